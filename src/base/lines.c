#include "base/lines.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "base/memory.h"

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

/* Moves what is left to the front and reads a block behind it; *got 0 at the end of the file. */
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

hu_status hu_lines_next(hu_lines *l, hu_line *line, bool *is_there) {
    size_t searched = 0, got = 1;
    while (got > 0) {
        size_t left = l->held - l->begin;
        /* There is no block before the first read. */
        const uint8_t *from = left > searched ? l->data + l->begin + searched : NULL;
        const uint8_t *end = from ? memchr(from, '\n', left - searched) : NULL;
        *is_there = end != NULL;
        if (end) {
            give(l, searched + (size_t)(end - from) + 1, true, line);
            return HU_OK;
        }
        searched = left;
        hu_status st = read_more(l, &got);
        if (st != HU_OK) return st;
    }
    *is_there = l->held > l->begin;
    if (*is_there) give(l, l->held - l->begin, false, line);
    return HU_OK;
}

void hu_lines_seek(hu_lines *lines, uint64_t offset) {
    lines->offset = offset;
    lines->begin = lines->held = 0;
}

uint64_t hu_lines_size(const hu_lines *lines) {
    return lines->size;
}

/* The block that the byte before `end` lies in, unless it is there already. */
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
