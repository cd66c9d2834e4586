/* sweep/rows.h - trainings of a command that run in its own process, one after the other: what is
 * said of them, and how long all of them will take. Those in processes of their own: sweep/jobs.h.
 */
#ifndef HU_SWEEP_ROWS_H
#define HU_SWEEP_ROWS_H
#include "settings/messages.h"

typedef struct hu_rows hu_rows;

/* Makes the folder, keeps others out of it and begins its progress.jsonl: so many rows of a verb.
 * Owner closes. HU_ERR_IO, also where another process works there; HU_ERR_MEMORY. */
hu_status hu_rows_open(const char *folder, const char *verb, int count, hu_rows **rows);

/* The next row begins, to be trained in a directory: a line and a row of progress.jsonl. Texts are
 * copied. HU_ERR_IO. */
hu_status hu_rows_begin(hu_rows *rows, const char *label, const char *directory);

/* A listener for the training of that row, which hands on to `own` what it hears: live lines tell
 * the time that is left of all rows, lines of epochs both. Rows that have not begun count as long
 * as those that have ended, or else as this one. *made is valid until the next call or the end. */
void hu_rows_listen(hu_rows *rows, const hu_listener *own, hu_listener *made);

/* The row has ended and left its result. HU_ERR_IO. */
hu_status hu_rows_ended(hu_rows *rows);

/* The end of the command, whose status and words are kept, in progress.jsonl; frees. rows NULL:
 * gives the status. */
hu_status hu_rows_close(hu_rows *rows, hu_status status);

#endif
