/* runlog/progress.h - progress.jsonl: what happened in a training, a comparison or a search, an
 * event a row, for whoever follows it while it runs (docs/reference/run-folder.md).
 *
 * Rows are only appended. A run that goes on adds a "start" of its own, so that rows of steps that
 * were lost with a killed process stay: the file tells what happened, not what a training is.
 */
#ifndef HU_JOURNAL_PROGRESS_H
#define HU_JOURNAL_PROGRESS_H
#include "render/json.h"

#define HU_PROGRESS_FILE "progress.jsonl"

typedef struct hu_progress hu_progress;

/* Opens the file of a folder for appending; a last row without an end gets one. Owner closes.
 * HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_progress_open(const char *folder, hu_progress **progress);

/* Writes {"event": event, "time": seconds since 1970, ...facts} and hands it to the system. Drops
 * the reference to facts; NULL is HU_ERR_MEMORY. progress NULL: nothing is written. *row: the
 * object as it was written, new reference, may be NULL. A "start" has the command line of the
 * process, too, where the system tells it, and the version of halfulp. HU_ERR_IO. */
hu_status hu_progress_write(hu_progress *progress, const char *event, json_t *facts, json_t **row);

/* NULL is allowed. */
void hu_progress_close(hu_progress *progress);

/* ---- progress text ---- */

/* An event of progress.jsonl as lines for people: a training prints them,
 * and so does whoever follows it. */

enum { HU_PROGRESS_TEXT_BYTES = 4096 };

/* The lines of an event, without a final newline; "" of events that people are not told of, and of
 * those that this version does not know. text: room for HU_PROGRESS_TEXT_BYTES. Gives text.
 * Proof: tests/unit/journal_progress_test.c. */
const char *hu_progress_text(const json_t *row, char *text);

/* "epoch", "start", ...: which event it is; "" of a row that is none. Borrowed: valid as the row.
 */
const char *hu_progress_event(const json_t *row);

#endif
