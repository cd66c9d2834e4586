/* show/csv_text.h - a CSV that is made in memory, cell by cell. */
#ifndef HU_SHOW_CSV_TEXT_H
#define HU_SHOW_CSV_TEXT_H
#include "base/bytes.h"

/* The text as it is, without its final zero. */
hu_status hu_csv_put_text(hu_byte_writer *out, const char *text);

/* A cell of text from outside, in quotes where it needs them (RFC 4180). Control characters but
 * those of lines and tabs are written as "\xHH"; a text that a spreadsheet would take for a formula
 * (it begins with = + - @, a tab or a return) stands behind an apostrophe. */
hu_status hu_csv_put_cell(hu_byte_writer *out, const char *cell);

/* The same behind a comma; NULL: an empty one. */
hu_status hu_csv_put_word(hu_byte_writer *out, const char *word);

/* A number behind a comma, in as many digits as give it back; nothing of one that is not finite. */
hu_status hu_csv_put_real(hu_byte_writer *out, double number);

/* A number behind "before", in as many digits as give float32 back. */
hu_status hu_csv_put_number(hu_byte_writer *out, const char *before, double number);

#endif
