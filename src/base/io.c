#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "base/error.h"

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
