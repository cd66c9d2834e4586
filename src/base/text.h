/* base/text.h - files of text as people's editors write them. */
#ifndef HU_BASE_TEXT_H
#define HU_BASE_TEXT_H
#include <stddef.h>

#include <halfulp/status.h>

#include "base/bytes.h"

/* Bytes of the byte-order mark that a text [bytes] in UTF-8 begins with: 3, or 0. */
size_t hu_text_mark_bytes(const char *text, size_t bytes);

/* What a file must begin with for hu_text_read to give back a text that begins with such a mark
 * itself: another one. */
hu_status hu_text_write_mark(hu_byte_writer *out, const char *text);

/* Reads a whole file, without the mark that it may begin with: *text [*bytes] with a zero behind
 * it; owner frees with hu_free, NULL on failure. HU_ERR_CORRUPT names the file: a zero byte, with
 * its offset, or text in UTF-16. Others as hu_file_read_plain. Proof: tests/unit/base_text_test.c.
 */
hu_status hu_text_read(const char *path, size_t limit_bytes, char **text, size_t *bytes);

#endif
