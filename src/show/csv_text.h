/* show/csv_text.h - a CSV that is made in memory, cell by cell. */
#ifndef HU_SHOW_CSV_TEXT_H
#define HU_SHOW_CSV_TEXT_H
#include "base/bytes.h"

/* The text as it is, without its final zero. */
hu_status hu_csv_put_text(hu_byte_writer *out, const char *text);

/* A cell, in quotes where it needs them (RFC 4180). */
hu_status hu_csv_put_cell(hu_byte_writer *out, const char *cell);

/* The same behind a comma; NULL: an empty one. */
hu_status hu_csv_put_word(hu_byte_writer *out, const char *word);

/* A number behind "before", in as many digits as give float32 back. */
hu_status hu_csv_put_number(hu_byte_writer *out, const char *before, double number);

#endif
