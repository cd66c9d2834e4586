#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <zlib.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"

/* ---- io ---- */

/* The system's calls on files, as everybody here wants them: repeated when a signal
 * interrupts them, continued where they did only a part, and told with path and reason. */

/* Most bytes of one call, whose counts may have 32 bits. */
enum { IO_BYTES = 1 << 30 };

/* The path names nothing, or goes through what is no directory. */
static bool means_missing(int error) {
    return error == ENOENT || error == ENOTDIR;
}

hu_status hu_io_fail(const char *path, const char *what, int error) {
    char reason[256] = "";
    if (strerror_r(error, reason, sizeof reason) != 0)
        snprintf(reason, sizeof reason, "error %d", error);
    hu_status status = means_missing(error) ? HU_ERR_MISSING : HU_ERR_IO;
    if (error == ENOMEM) status = HU_ERR_MEMORY;
    bool full = error == ENOSPC || error == EDQUOT;
    if (error == EISDIR)
        status = hu_fail(HU_ERR_ARGUMENT, "%s: found a folder, expected a file", path);
    else
        hu_fail(status, "%s: %s: %s%s", path, what, full ? "no space: " : "", reason);
    errno = error;
    return status;
}

static hu_status open_file(const char *path, int flags, int *descriptor) {
    do *descriptor = open(path, flags | O_CLOEXEC, 0666);
    while (*descriptor < 0 && errno == EINTR);
    return *descriptor < 0 ? hu_io_fail(path, "cannot open", errno) : HU_OK;
}

/* Whether a word of the command line is the path, or ends with it: config=PATH, @PATH, text:PATH.
 */
static bool is_in_words(const char *words, size_t bytes, const char *path) {
    size_t length = strlen(path);
    for (const char *word = words; word < words + bytes; word += strlen(word) + 1) {
        size_t own = strlen(word);
        if (own < length || strcmp(word + own - length, path) != 0) continue;
        if (own == length || strchr("=@:", word[own - length - 1])) return true;
    }
    return false;
}

/* Whether the user has named the path: proc(5), /proc/PID/cmdline. */
static bool is_named(const char *path) {
    enum { WORDS_BYTES = 1 << 16 };
    char words[WORDS_BYTES + 1];
    size_t bytes = 0;
    int descriptor = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    for (ssize_t got = 1; descriptor >= 0 && got > 0 && bytes < WORDS_BYTES; bytes += (size_t)got)
        if ((got = read(descriptor, words + bytes, WORDS_BYTES - bytes)) < 0) break;
    if (descriptor >= 0) close(descriptor);
    words[bytes] = '\0';
    return bytes > 0 && is_in_words(words, bytes, path);
}

/* What is no file is waited for only where the user gave it: by its name, or a descriptor that a
 * shell has opened (/dev/stdin, <(...)), whose pipe lies in no folder. */
static bool is_given(int descriptor, const char *path) {
    struct statfs system;
    return (fstatfs(descriptor, &system) == 0 && system.f_type == PIPEFS_MAGIC) ||
           strncmp(path, "/dev/", strlen("/dev/")) == 0 || is_named(path);
}

const char *hu_io_kind(mode_t mode) {
    return S_ISFIFO(mode) ? "pipe" : S_ISSOCK(mode) ? "socket" : "device";
}

/* Until somebody writes, or has written and gone; then reads wait as they do. */
static hu_status wait_for_writer(int descriptor, const char *path) {
    struct pollfd pipe = {.fd = descriptor, .events = POLLIN};
    while (poll(&pipe, 1, -1) < 0)
        if (errno != EINTR) return hu_io_fail(path, "cannot read", errno);
    int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0 || fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) < 0)
        return hu_io_fail(path, "cannot read", errno);
    return HU_OK;
}

/* For reading: a pipe that nobody fills must not be waited for. */
static hu_status open_read(const char *path, int flags, int *descriptor) {
    struct stat info;
    hu_status st = open_file(path, flags | O_NONBLOCK, descriptor);
    if (st != HU_OK) return st;
    if (fstat(*descriptor, &info) != 0 || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode))
        return HU_OK;
    st = is_given(*descriptor, path) ? wait_for_writer(*descriptor, path)
                                     : hu_fail(HU_ERR_CORRUPT, "%s: found a %s, expected a file",
                                               path, hu_io_kind(info.st_mode));
    if (st == HU_OK) return HU_OK;
    close(*descriptor);
    *descriptor = -1;
    return st;
}

hu_status hu_io_open(const char *path, int flags, int *descriptor) {
    bool only_reads = (flags & (O_ACCMODE | O_DIRECTORY)) == O_RDONLY;
    return only_reads ? open_read(path, flags, descriptor) : open_file(path, flags, descriptor);
}

hu_status hu_io_write(int descriptor, const char *path, const void *data, size_t bytes) {
    const uint8_t *at = data;
    while (bytes > 0) {
        ssize_t put = write(descriptor, at, bytes < IO_BYTES ? bytes : IO_BYTES);
        if (put < 0 && errno == EINTR) continue;
        /* Nothing taken and no reason: repeating would never end. */
        if (put <= 0) return hu_io_fail(path, "cannot write", put < 0 ? errno : EIO);
        at += put;
        bytes -= (size_t)put;
    }
    return HU_OK;
}

hu_status hu_io_read_at(int descriptor, const char *path, uint64_t offset, void *data, size_t bytes,
                        size_t *got) {
    *got = 0;
    while (*got < bytes) {
        size_t left = bytes - *got;
        ssize_t part = pread(descriptor, (uint8_t *)data + *got, left < IO_BYTES ? left : IO_BYTES,
                             (off_t)(offset + *got));
        if (part < 0 && errno == EINTR) continue;
        if (part < 0) return hu_io_fail(path, "cannot read", errno);
        if (part == 0) break;
        *got += (size_t)part;
    }
    return HU_OK;
}

static hu_status sync_by(int (*call)(int), int descriptor, const char *path) {
    while (call(descriptor) != 0) {
        if (errno == EINTR) continue;
        if (errno == EINVAL || errno == EROFS) break;
        return hu_io_fail(path, "cannot sync", errno);
    }
    return HU_OK;
}

hu_status hu_io_sync(int descriptor, const char *path) {
    return sync_by(fsync, descriptor, path);
}

hu_status hu_io_sync_data(int descriptor, const char *path) {
    return sync_by(fdatasync, descriptor, path);
}

hu_status hu_io_cut(int descriptor, const char *path, uint64_t bytes) {
    while (ftruncate(descriptor, (off_t)bytes) != 0)
        if (errno != EINTR) return hu_io_fail(path, "cannot cut", errno);
    return HU_OK;
}

/* ---- The three files that every process is given ---- */

void hu_descriptors_fill(void) {
    for (int number = STDIN_FILENO; number <= STDERR_FILENO; number++) {
        if (fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
        /* The lowest free number is this one. Where even that fails nothing can be done or said. */
        int opened = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        if (opened < 0) return;
    }
}

/* ---- head ---- */

/* The beginning of a file, so that what it says of itself is known before the whole
 * is read. */

/* Opens what stands on a disk; *descriptor -1 of pipes and devices, whose beginning would be gone
 * for those who read them after us. */
static hu_status open_regular(const char *path, int *descriptor, uint64_t *bytes) {
    struct stat info;
    *descriptor = -1;
    *bytes = 0;
    if (stat(path, &info) != 0) return hu_io_fail(path, "cannot open", errno);
    if (!S_ISREG(info.st_mode)) return HU_OK;
    hu_status st = hu_io_open(path, O_RDONLY, descriptor);
    if (st == HU_OK && fstat(*descriptor, &info) == 0) *bytes = (uint64_t)info.st_size;
    return st;
}

hu_status hu_file_head(const char *path, void *head, size_t most, size_t *got,
                       uint64_t *file_bytes) {
    int descriptor;
    *got = 0;
    hu_status st = open_regular(path, &descriptor, file_bytes);
    if (descriptor < 0) return st;
    st = hu_io_read_at(descriptor, path, 0, head, most, got);
    close(descriptor);
    return st;
}

hu_status hu_file_head_inflated(const char *path, void *head, size_t most, size_t *got) {
    int descriptor;
    uint64_t file_bytes;
    *got = 0;
    hu_status st = open_regular(path, &descriptor, &file_bytes);
    if (descriptor < 0) return st;
    gzFile stream = gzdopen(descriptor, "rb");
    if (!stream) {
        close(descriptor);
        return hu_fail(HU_ERR_MEMORY, "%s: no memory to read it", path);
    }
    /* What is no gzip stream is read as it stands. */
    int bytes = gzread(stream, head, most < INT_MAX ? (unsigned)most : INT_MAX);
    *got = bytes > 0 ? (size_t)bytes : 0;
    int error = Z_OK;
    gzerror(stream, &error);
    gzclose_r(stream); /* closes the descriptor too */
    if (bytes < 0 && error == Z_MEM_ERROR)
        return hu_fail(HU_ERR_MEMORY, "%s: no memory to inflate", path);
    return HU_OK;
}

/* ---- file ---- */

/* First block of a file of unknown size; most bytes of one read or step of inflating, whose counts
 * may have 32 bits. */
enum { FIRST_CAPACITY = 1 << 16, FILE_IO_BYTES = 1 << 30 };

bool hu_file_exists(const char *path) {
    struct stat info;
    return stat(path, &info) == 0;
}

hu_status hu_file_find(const char *path, bool *exists) {
    struct stat info;
    *exists = stat(path, &info) == 0;
    if (*exists || errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG) return HU_OK;
    return hu_io_fail(path, "cannot open", errno);
}

hu_status hu_file_check_regular(const char *path, const char *why) {
    struct stat info;
    bool is_there = stat(path, &info) == 0;
    if (!is_there || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "%s: found a %s, expected a file: %s", path,
                   hu_io_kind(info.st_mode), why);
}

hu_status hu_file_size(const char *path, uint64_t *bytes) {
    struct stat info;
    *bytes = 0;
    if (stat(path, &info) != 0) return hu_io_fail(path, "cannot open", errno);
    *bytes = info.st_size < 0 ? 0 : (uint64_t)info.st_size;
    return HU_OK;
}

hu_status hu_file_set_aside(const char *path, char *note, size_t capacity) {
    char *aside;
    size_t bytes = strlen(path) + sizeof HU_DAMAGED;
    hu_status st = HU_NEW_ARRAY(&aside, bytes);
    if (st != HU_OK) return st;
    snprintf(aside, bytes, "%s%s", path, HU_DAMAGED);
    if (rename(path, aside) != 0) HU_TRY(hu_io_fail(path, "cannot rename", errno));
    hu_note_add(note, capacity, "\n", "%s is damaged: it is now %s, and begins anew", path,
                hu_path_name(aside));
    st = hu_directory_sync_of(path);
done:
    hu_free(aside);
    return st;
}

hu_status hu_path_join(const char *directory, const char *name, char **path) {
    size_t length = strlen(directory), bytes;
    void *block;
    *path = NULL;
    if (!hu_add_size(length, strlen(name) + 2, &bytes))
        return hu_fail(HU_ERR_MEMORY, "cannot allocate a path of %zu bytes", length);
    hu_status st = hu_alloc(bytes, &block);
    if (st != HU_OK) return st;
    /* "" joined with NAME is NAME, not /NAME; "DIR/" gets no second slash. */
    bool slash = length > 0 && directory[length - 1] != '/';
    *path = block;
    snprintf(*path, bytes, "%s%s%s", directory, slash ? "/" : "", name);
    return HU_OK;
}

const char *hu_path_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* *is_new: it was missing; its name is then on the disk. */
static hu_status make_directory(const char *path, bool *is_new) {
    *is_new = mkdir(path, 0777) == 0;
    return *is_new ? hu_directory_sync_of(path) : HU_OK;
}

hu_status hu_directory_create(const char *path) {
    char *copy;
    struct stat info;
    bool is_new;
    hu_status st = hu_strdup(path, &copy);
    if (st != HU_OK) return st;
    for (char *p = copy; *p && st == HU_OK; p++) {
        if (*p != '/' || p == copy) continue;
        *p = '\0';
        st = make_directory(copy, &is_new); /* the last one tells whether all of them worked */
        *p = '/';
    }
    if (st == HU_OK) st = make_directory(copy, &is_new);
    int error = errno;
    hu_free(copy);
    if (st != HU_OK || is_new) return st;
    if (error == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return HU_OK;
    hu_io_fail(path, "cannot make the directory", error);
    return HU_ERR_IO;
}

/* A byte block that grows up to one byte more than a limit. */
typedef struct image {
    uint8_t *data;
    size_t size, capacity, limit;
} image;

/* On failure the contents stay and the owner still frees them. */
static hu_status grow(image *bytes, size_t capacity) {
    void *block = bytes->data;
    hu_status st = hu_realloc(&block, capacity);
    if (st != HU_OK) return st;
    bytes->data = block;
    bytes->capacity = capacity;
    return HU_OK;
}

/* Room for at least one byte more; HU_ERR_LIMIT when the limit is passed already. */
static hu_status make_room(image *bytes, const char *path) {
    if (bytes->size > bytes->limit)
        return hu_fail(HU_ERR_LIMIT, "%s: found more than %zu bytes, expected at most that", path,
                       bytes->limit);
    if (bytes->size < bytes->capacity) return HU_OK;
    size_t most = bytes->limit == SIZE_MAX ? SIZE_MAX : bytes->limit + 1;
    size_t next = bytes->capacity < FIRST_CAPACITY ? FIRST_CAPACITY : bytes->capacity;
    if (next == bytes->capacity) next = next > most / 2 ? most : 2 * next;
    return grow(bytes, next > most ? most : next);
}

/* Until the end of the file; a read that a signal interrupts is repeated. */
static hu_status read_all(int descriptor, const char *path, image *bytes) {
    hu_status st = HU_OK;
    for (;;) {
        HU_TRY(make_room(bytes, path));
        size_t room = bytes->capacity - bytes->size;
        ssize_t got = read(descriptor, bytes->data + bytes->size,
                           room < FILE_IO_BYTES ? room : FILE_IO_BYTES);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return hu_io_fail(path, "cannot read", errno);
        if (got == 0) break;
        bytes->size += (size_t)got;
    }
done:
    return st;
}

/* The contents as they stand on the disk. */
static hu_status read_raw(const char *path, image *bytes) {
    int descriptor;
    hu_status st = hu_io_open(path, O_RDONLY, &descriptor);
    if (st != HU_OK) return st;
    struct stat info;
    if (fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0 &&
        (uint64_t)info.st_size <= bytes->limit && bytes->limit < SIZE_MAX)
        HU_TRY(grow(bytes, (size_t)info.st_size + 1)); /* the end is seen without growing again */
    HU_TRY(read_all(descriptor, path, bytes));
done:
    close(descriptor);
    return st;
}

hu_status hu_file_read_room(const char *path, size_t limit_bytes, hu_scratch *room, size_t *bytes) {
    int descriptor;
    image raw = {.data = room->block, .capacity = room->bytes, .limit = limit_bytes};
    *bytes = 0;
    hu_status st = hu_io_open(path, O_RDONLY, &descriptor);
    if (st != HU_OK) return st;
    st = read_all(descriptor, path, &raw);
    close(descriptor);
    *room = (hu_scratch){raw.data, raw.capacity};
    if (st == HU_OK) *bytes = raw.size;
    return st;
}

/* The two bytes that begin every gzip member (RFC 1952). */
static bool has_gzip_magic(const uint8_t *p, size_t left) {
    return left >= 2 && p[0] == 0x1f && p[1] == 0x8b;
}

/* Inflated size modulo 2^32 according to the last four bytes, if believable; deflate cannot
 * compress better than 1032:1 (zlib's technical notes). */
static size_t announced_size(const image *packed, size_t limit) {
    /* A header of 10 bytes and a trailer of 8 are the least (RFC 1952, section 2.3). */
    if (packed->size < 18) return 0;
    const uint8_t *p = packed->data + packed->size - 4;
    size_t size = (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
    return size <= limit && size / 1032 <= packed->size ? size : 0;
}

/* Feeds the inflater and empties it until the member ends. */
static hu_status inflate_member(z_stream *stream, const image *packed, const char *path,
                                size_t *offset, image *plain) {
    hu_status st = HU_OK;
    int result = Z_OK;
    while (result != Z_STREAM_END) {
        HU_TRY(make_room(plain, path));
        size_t left = packed->size - *offset, room = plain->capacity - plain->size;
        uInt in = (uInt)(left < FILE_IO_BYTES ? left : FILE_IO_BYTES);
        uInt out = (uInt)(room < FILE_IO_BYTES ? room : FILE_IO_BYTES);
        stream->next_in = packed->data + *offset;
        stream->avail_in = in;
        stream->next_out = plain->data + plain->size;
        stream->avail_out = out;
        result = inflate(stream, Z_NO_FLUSH);
        *offset += in - stream->avail_in;
        plain->size += out - stream->avail_out;
        if (result == Z_MEM_ERROR) return hu_fail(HU_ERR_MEMORY, "%s: no memory to inflate", path);
        if (result == Z_BUF_ERROR && *offset == packed->size)
            return hu_fail(HU_ERR_CORRUPT,
                           "%s: offset %zu: gzip stream: found the end of the file, expected more "
                           "compressed bytes",
                           path, *offset);
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
            return hu_fail(HU_ERR_CORRUPT,
                           "%s: offset %zu: gzip stream: found %s, expected valid compressed bytes",
                           path, *offset, stream->msg ? stream->msg : "a preset dictionary");
    }
done:
    return st;
}

/* A gzip file may hold several members, one after the other. */
static hu_status inflate_all(const image *packed, const char *path, image *plain) {
    hu_status st = HU_OK;
    z_stream stream = {0};
    if (inflateInit2(&stream, 15 + 16) != Z_OK) /* 15: largest window, 16: gzip wrapper only */
        return hu_fail(HU_ERR_MEMORY, "%s: no memory to inflate", path);
    size_t announced = announced_size(packed, plain->limit);
    if (announced) HU_TRY(grow(plain, announced + 1));
    size_t offset = 0;
    do {
        if (!has_gzip_magic(packed->data + offset, packed->size - offset)) {
            st = hu_fail(HU_ERR_CORRUPT,
                         "%s: offset %zu: gzip magic: found %zu other bytes, expected 1f 8b or the "
                         "end of the file",
                         path, offset, packed->size - offset);
            goto done;
        }
        HU_TRY(inflate_member(&stream, packed, path, &offset, plain));
        inflateReset(&stream);
    } while (offset < packed->size);
done:
    inflateEnd(&stream);
    return st;
}

hu_status hu_file_read(const char *path, size_t limit_bytes, uint8_t **data, size_t *bytes) {
    hu_status st = HU_OK;
    image raw = {.limit = limit_bytes}, plain = {.limit = limit_bytes};
    size_t length = strlen(path);
    *data = NULL;
    *bytes = 0;
    HU_TRY(read_raw(path, &raw));
    bool named = length > 3 && strcmp(path + length - 3, ".gz") == 0;
    if (named || has_gzip_magic(raw.data, raw.size)) {
        HU_TRY(inflate_all(&raw, path, &plain));
        if (plain.size > plain.limit) HU_TRY(make_room(&plain, path));
        *data = plain.data;
        *bytes = plain.size;
        plain.data = NULL;
    } else {
        *data = raw.data;
        *bytes = raw.size;
        raw.data = NULL;
    }
done:
    hu_free(raw.data);
    hu_free(plain.data);
    return st;
}

hu_status hu_file_read_plain(const char *path, size_t limit_bytes, uint8_t **data, size_t *bytes) {
    hu_status st = HU_OK;
    image raw = {.limit = limit_bytes};
    *data = NULL;
    *bytes = 0;
    HU_TRY(read_raw(path, &raw));
    *data = raw.data;
    *bytes = raw.size;
    raw.data = NULL;
done:
    hu_free(raw.data);
    return st;
}

/* ---- Folders below one that is present ---- */

hu_status hu_directory_add(const char *path) {
    struct stat info;
    if (mkdir(path, 0777) == 0) return hu_directory_sync_of(path);
    int error = errno;
    if (error == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return HU_OK;
    hu_io_fail(path, "cannot make the directory", error);
    return HU_ERR_IO;
}

/* ---- What the ending of a file's name says is to be written into it ---- */

/* ".html, .svg or .pdf" */
static void list(const char *const *endings, char *text, size_t capacity) {
    size_t used = 0;
    for (size_t i = 0; endings[i] && used < capacity; i++)
        used += (size_t)snprintf(text + used, capacity - used, "%s.%s",
                                 i == 0           ? ""
                                 : endings[i + 1] ? ", "
                                                  : " or ",
                                 endings[i]);
}

hu_status hu_ending_find(const char *path, const char *const *endings, int *which) {
    char known[256];
    const char *name = hu_path_name(path), *dot = strrchr(name, '.');
    *which = 0;
    if (!dot || dot == name || !dot[1]) return HU_OK;
    for (int i = 0; endings[i]; i++) {
        *which = i;
        if (strcasecmp(dot + 1, endings[i]) == 0) return HU_OK;
    }
    list(endings, known, sizeof known);
    return hu_fail(HU_ERR_ARGUMENT, "%s: found the ending '%.20s', expected %s", path, dot, known);
}
