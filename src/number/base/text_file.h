/* base/text_file.h - files of text: read whole or line by line, and files that grow by whole
 * pieces. */
#ifndef HU_BASE_TEXT_FILE_H
#define HU_BASE_TEXT_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

#include "base/bytes.h"

/* ---- Files of text as people's editors write them ---- */

/* Bytes of the byte-order mark that a text [bytes] in UTF-8 begins with: 3, or 0. */
size_t hu_text_mark_bytes(const char *text, size_t bytes);

/* What a file must begin with for hu_text_read to give back a text that begins with such a mark
 * itself: another one. */
hu_status hu_text_write_mark(hu_byte_writer *out, const char *text);

/* Reads a whole file, without the mark that it may begin with: *text [*bytes] with a zero after
 * it; owner frees with hu_free, NULL on failure. HU_ERR_CORRUPT names the file: a zero byte, with
 * its offset, or text in UTF-16. Others as hu_file_read_plain. Proof: tests/unit/base_text_test.c.
 */
hu_status hu_text_read(const char *path, size_t limit_bytes, char **text, size_t *bytes);

/* ---- append ---- */

/* A file that grows by whole pieces: the lines of a history, the records of a log.
 *
 * A piece is made in memory and written by one call. When that fails (a full disk, a broken one),
 * the file is cut back to the pieces before it, and nothing more is written: no reader ever meets a
 * part of a piece, but after a loss of power. */

typedef struct hu_append hu_append;

/* Opens the file for appending, or makes it. What it holds counts as whole. Owner closes; *append
 * NULL on failure. HU_ERR_IO, HU_ERR_MISSING (the directory), HU_ERR_MEMORY. */
hu_status hu_append_open(const char *path, hu_append **append);

/* Adds to the piece that is being made; that there was no memory for it, hu_append_end tells. */
void hu_append_bytes(hu_append *append, const void *data, size_t bytes);
void hu_append_text(hu_append *append, const char *text);
void hu_append_format(hu_append *append, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes the piece, if anything was added. HU_ERR_IO, HU_ERR_MEMORY: the file ends as before it,
 * and all later pieces fail. */
hu_status hu_append_end(hu_append *append);

/* Drops what is after so many bytes of the file. HU_ERR_IO. */
hu_status hu_append_cut(hu_append *append, uint64_t bytes);

/* Waits until all that was written is on the disk. HU_ERR_IO. */
hu_status hu_append_sync(hu_append *append);

/* Bytes of the file, the piece being made not counted; its path. Borrowed: until it is closed. */
uint64_t hu_append_size(const hu_append *append);
const char *hu_append_path(const hu_append *append);

/* Closes and frees; a piece that was not ended is dropped. NULL is allowed. */
void hu_append_close(hu_append *append);

/* ---- lines ---- */

/* The lines of a file of any length, forwards and back, with room for the longest
 * line alone. */

typedef struct hu_lines hu_lines;

/* One line. Borrowed: until the next one is read. */
typedef struct hu_line {
    const char *text; /* its end is left out; no zero after it */
    size_t bytes;
    uint64_t offset; /* of its first byte in the file */
    bool has_end;    /* false only of a last line that no line end closes */
} hu_line;

/* Opens a file whose lines are then read from its beginning on. Owner closes. HU_ERR_MISSING,
 * HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_lines_open(const char *path, hu_lines **lines);

/* The next line; *is_there false: the file has ended. HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_lines_next(hu_lines *lines, hu_line *line, bool *is_present);

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
