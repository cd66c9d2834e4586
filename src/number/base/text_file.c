#include "base/text_file.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

/* ---- Files of text as people's editors write them ---- */

size_t hu_text_mark_bytes(const char *text, size_t bytes) {
    static const char mark[] = "\xef\xbb\xbf";
    size_t length = strlen(mark);
    return bytes >= length && memcmp(text, mark, length) == 0 ? length : 0;
}

hu_status hu_text_write_mark(hu_byte_writer *out, const char *text) {
    return hu_write_bytes(out, text, hu_text_mark_bytes(text, strlen(text)));
}

/* Either order of bytes. */
static hu_status check(const char *path, const char *text, size_t bytes) {
    const char *zero = bytes > 0 ? memchr(text, '\0', bytes) : NULL;
    if (bytes >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0))
        return hu_fail(HU_ERR_CORRUPT,
                       "%s: found UTF-16, expected UTF-8; `iconv -f UTF-16 -t UTF-8` makes it that",
                       path);
    if (!zero) return HU_OK;
    return hu_fail(HU_ERR_CORRUPT, "%s: offset %zu: found a zero byte, expected text", path,
                   (size_t)(zero - text));
}

hu_status hu_text_read(const char *path, size_t limit_bytes, char **text, size_t *bytes) {
    uint8_t *data = NULL;
    hu_status st;
    *text = NULL;
    HU_TRY(hu_file_read_plain(path, limit_bytes, &data, bytes));
    HU_TRY(check(path, (const char *)data, *bytes));
    size_t mark = hu_text_mark_bytes((const char *)data, *bytes);
    *bytes -= mark;
    st = hu_strndup((const char *)data + mark, *bytes, text);
done:
    hu_free(data);
    return st;
}

/* ---- append ---- */

/* A file that grows by whole pieces: the lines of a history, the records of a log.
 *
 * A piece is made in memory and written by one call. When that fails (a full disk, a broken one),
 * the file is cut back to the pieces before it, and nothing more is written: no reader ever meets a
 * part of a piece, but after a loss of power. */

struct hu_append {
    int descriptor;
    char *path;
    hu_byte_writer piece;
    uint64_t size;    /* of all whole pieces */
    hu_status failed; /* of the piece being made, or forever */
};

hu_status hu_append_open(const char *path, hu_append **append) {
    struct stat info;
    hu_status st = HU_NEW(append);
    if (st != HU_OK) return st;
    hu_append *made = *append;
    made->descriptor = -1;
    HU_TRY(hu_strdup(path, &made->path));
    HU_TRY(hu_io_open(path, O_WRONLY | O_CREAT | O_APPEND, &made->descriptor));
    if (fstat(made->descriptor, &info) == 0 && info.st_size > 0)
        made->size = (uint64_t)info.st_size;
    return HU_OK;
done:
    hu_append_close(made);
    *append = NULL;
    return st;
}

void hu_append_bytes(hu_append *append, const void *data, size_t bytes) {
    if (append->failed == HU_OK) append->failed = hu_write_bytes(&append->piece, data, bytes);
}

void hu_append_text(hu_append *append, const char *text) {
    hu_append_bytes(append, text, strlen(text));
}

void hu_append_format(hu_append *append, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (append->failed == HU_OK) append->failed = hu_write_args(&append->piece, format, args);
    va_end(args);
}

/* Back to the whole pieces; what cannot be cut stays after the last of them, and nothing follows.
 */
static hu_status fail(hu_append *append, hu_status st) {
    char reason[1024];
    append->failed = st;
    snprintf(reason, sizeof reason, "%s", hu_last_error());
    (void)hu_io_cut(append->descriptor, append->path, append->size);
    return hu_fail(st, "%s", reason);
}

hu_status hu_append_end(hu_append *append) {
    hu_byte_writer *piece = &append->piece;
    size_t bytes = piece->size;
    piece->size = 0;
    if (append->failed == HU_ERR_MEMORY)
        return hu_fail(HU_ERR_MEMORY, "%s: no memory for the next line", append->path);
    if (append->failed != HU_OK)
        return hu_fail(append->failed, "%s: cannot write: a write before failed", append->path);
    if (bytes == 0) return HU_OK;
    hu_status st = hu_io_write(append->descriptor, append->path, piece->data, bytes);
    if (st != HU_OK) return fail(append, st);
    append->size += bytes;
    return HU_OK;
}

hu_status hu_append_cut(hu_append *append, uint64_t bytes) {
    hu_status st = hu_io_cut(append->descriptor, append->path, bytes);
    if (st == HU_OK) append->size = bytes;
    return st;
}

hu_status hu_append_sync(hu_append *append) {
    return hu_io_sync_data(append->descriptor, append->path);
}

uint64_t hu_append_size(const hu_append *append) {
    return append->size;
}

const char *hu_append_path(const hu_append *append) {
    return append->path;
}

void hu_append_close(hu_append *append) {
    if (!append) return;
    if (append->descriptor >= 0) close(append->descriptor);
    hu_writer_free(&append->piece);
    hu_free(append->path);
    hu_free(append);
}

/* ---- lines ---- */

/* The lines of a file of any length, forwards and back, with room for the longest
 * line alone. */

/* Most and least bytes of one read: a short file takes a short block. */
enum { BLOCK_BYTES = 1 << 16, LEAST_BYTES = 1 << 12 };

struct hu_lines {
    int descriptor;
    char *path;
    uint64_t size;
    uint64_t offset;    /* in the file, of the first byte of data */
    size_t begin, held; /* data[begin..held) was read and not yet given away */
    uint64_t back;      /* where the block begins that was looked through backwards */
    size_t back_bytes;
    uint8_t *data;
    size_t capacity, step; /* step: bytes of one read forwards */
    uint8_t *block;        /* [BLOCK_BYTES], once it is looked through backwards */
};

hu_status hu_lines_open(const char *path, hu_lines **lines) {
    struct stat info;
    hu_status st = HU_NEW(lines);
    if (st != HU_OK) return st;
    hu_lines *made = *lines;
    made->descriptor = -1;
    HU_TRY(hu_strdup(path, &made->path));
    HU_TRY(hu_io_open(path, O_RDONLY, &made->descriptor));
    if (fstat(made->descriptor, &info) == 0 && info.st_size > 0)
        made->size = (uint64_t)info.st_size;
    made->step = made->size < BLOCK_BYTES ? (size_t)made->size + 1 : BLOCK_BYTES;
    if (made->step < LEAST_BYTES) made->step = LEAST_BYTES;
    return HU_OK;
done:
    hu_lines_close(made);
    *lines = NULL;
    return st;
}

/* Moves what is left to the front and reads a block after it; *got 0 at the end of the file. */
static hu_status read_more(hu_lines *l, size_t *got) {
    void *block = l->data;
    *got = 0;
    if (l->begin > 0) memmove(l->data, l->data + l->begin, l->held - l->begin);
    l->held -= l->begin;
    l->offset += l->begin;
    l->begin = 0;
    if (l->capacity - l->held < l->step) {
        size_t next = l->capacity < l->step ? l->step : 2 * l->capacity;
        hu_status st = hu_realloc(&block, next);
        if (st != HU_OK) return st;
        l->data = block;
        l->capacity = next;
    }
    hu_status st =
        hu_io_read_at(l->descriptor, l->path, l->offset + l->held, l->data + l->held, l->step, got);
    l->held += *got;
    return st;
}

/* Gives the next so many bytes away as a line. */
static void give(hu_lines *l, size_t bytes, bool has_end, hu_line *line) {
    *line =
        (hu_line){(const char *)l->data + l->begin, bytes - has_end, l->offset + l->begin, has_end};
    l->begin += bytes;
}

hu_status hu_lines_next(hu_lines *l, hu_line *line, bool *is_present) {
    size_t searched = 0, got = 1;
    while (got > 0) {
        size_t left = l->held - l->begin;
        /* There is no block before the first read. */
        const uint8_t *from = left > searched ? l->data + l->begin + searched : NULL;
        const uint8_t *end = from ? memchr(from, '\n', left - searched) : NULL;
        *is_present = end != NULL;
        if (end) {
            give(l, searched + (size_t)(end - from) + 1, true, line);
            return HU_OK;
        }
        searched = left;
        hu_status st = read_more(l, &got);
        if (st != HU_OK) return st;
    }
    *is_present = l->held > l->begin;
    if (*is_present) give(l, l->held - l->begin, false, line);
    return HU_OK;
}

void hu_lines_seek(hu_lines *lines, uint64_t offset) {
    lines->offset = offset;
    lines->begin = lines->held = 0;
}

uint64_t hu_lines_size(const hu_lines *lines) {
    return lines->size;
}

/* The block that the byte before `end` lies in, unless it is present already. */
static hu_status load_before(hu_lines *l, uint64_t end) {
    if (l->back < end && end <= l->back + l->back_bytes) return HU_OK;
    if (!l->block) {
        hu_status made = HU_NEW_ARRAY(&l->block, BLOCK_BYTES);
        if (made != HU_OK) return made;
    }
    l->back = end > BLOCK_BYTES ? end - BLOCK_BYTES : 0;
    size_t wanted = (size_t)(end - l->back);
    hu_status st = hu_io_read_at(l->descriptor, l->path, l->back, l->block, wanted, &l->back_bytes);
    if (st == HU_OK && l->back_bytes < wanted)
        st = hu_fail(HU_ERR_IO, "%s: found it shorter than when it was opened", l->path);
    if (st != HU_OK) l->back_bytes = 0;
    return st;
}

hu_status hu_lines_start_of(hu_lines *l, uint64_t end, uint64_t *start) {
    /* The last byte may be the line's own end. */
    for (uint64_t at = end - 1; at > 0;) {
        hu_status st = load_before(l, at);
        if (st != HU_OK) return st;
        for (; at > l->back; at--)
            if (l->block[at - 1 - l->back] == '\n') {
                *start = at;
                return HU_OK;
            }
    }
    *start = 0;
    return HU_OK;
}

hu_status hu_lines_peek(hu_lines *lines, uint64_t offset, void *data, size_t bytes, size_t *got) {
    return hu_io_read_at(lines->descriptor, lines->path, offset, data, bytes, got);
}

void hu_lines_close(hu_lines *lines) {
    if (!lines) return;
    if (lines->descriptor >= 0) close(lines->descriptor);
    hu_free(lines->data);
    hu_free(lines->block);
    hu_free(lines->path);
    hu_free(lines);
}
