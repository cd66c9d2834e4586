/* base/lines.h - the lines of a file of any length, forwards and back, with room for the longest
 * line alone. */
#ifndef HU_BASE_LINES_H
#define HU_BASE_LINES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

typedef struct hu_lines hu_lines;

/* One line. Borrowed: until the next one is read. */
typedef struct hu_line {
    const char *text; /* its end is left out; no zero behind it */
    size_t bytes;
    uint64_t offset; /* of its first byte in the file */
    bool has_end;    /* false only of a last line that no line end closes */
} hu_line;

/* Opens a file whose lines are then read from its beginning on. Owner closes. HU_ERR_MISSING,
 * HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_lines_open(const char *path, hu_lines **lines);

/* The next line; *is_there false: the file has ended. HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_lines_next(hu_lines *lines, hu_line *line, bool *is_there);

/* Goes on with the line that begins at an offset. */
void hu_lines_seek(hu_lines *lines, uint64_t offset);

/* Bytes of the file when it was opened. */
uint64_t hu_lines_size(const hu_lines *lines);

/* Where the line begins whose last byte (its end, if it has one) is the one before `end`; `end` is
 * from 1. HU_ERR_IO. */
hu_status hu_lines_start_of(hu_lines *lines, uint64_t end, uint64_t *start);

/* At most `bytes` of the file from an offset on; *got: how many there were. HU_ERR_IO. */
hu_status hu_lines_peek(hu_lines *lines, uint64_t offset, void *data, size_t bytes, size_t *got);

void hu_lines_close(hu_lines *lines);

#endif
