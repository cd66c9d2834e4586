/* render/csv.h - a CSV file that grows row by row (metrics.csv). */
#ifndef HU_SHOW_CSV_H
#define HU_SHOW_CSV_H
#include <halfulp/status.h>

#include "base/bytes.h"

/* ---- A CSV that is made in memory, cell by cell ---- */

/* The text as it is, without its final zero. */
hu_status hu_csv_put_text(hu_byte_writer *out, const char *text);

/* A cell of text from outside, in quotes where it needs them (RFC 4180). Control characters but
 * those of lines and tabs are written as "\xHH"; a text that a spreadsheet would take for a formula
 * (it begins with = + - @, a tab or a return) stands after an apostrophe. */
hu_status hu_csv_put_cell(hu_byte_writer *out, const char *cell);

/* The same after a comma; NULL: an empty one. */
hu_status hu_csv_put_word(hu_byte_writer *out, const char *word);

/* A number after a comma, in as many digits as give it back; nothing of one that is not finite. */
hu_status hu_csv_put_real(hu_byte_writer *out, double number);

/* A number after "before", in as many digits as give float32 back. */
hu_status hu_csv_put_number(hu_byte_writer *out, const char *before, double number);

typedef struct hu_csv hu_csv;

/* Opens path for appending. An empty or new file gets the line of titles; a file that has it
 * already is continued, after its last whole row: one that a crash has torn is removed; any other
 * first line is HU_ERR_CORRUPT. columns from 1. HU_ERR_IO otherwise. Owner closes. */
hu_status hu_csv_open(const char *path, const char *const *titles, int columns, hu_csv **csv);

/* Puts the next cell (printf form). After the last column the row is written, whole or not
 * at all, so that a crash costs at most the row being made. Cells with commas, quotes or line ends
 * are quoted. */
hu_status hu_csv_cell(hu_csv *csv, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Waits until all rows are on the disk. HU_ERR_IO. */
hu_status hu_csv_sync(hu_csv *csv);

/* Closes; a row that is not full is dropped. NULL is allowed. */
void hu_csv_close(hu_csv *csv);

#endif
