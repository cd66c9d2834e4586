/* journal/progress_text.h - an event of progress.jsonl as lines for people: a training prints them,
 * and so does whoever follows it. */
#ifndef HU_JOURNAL_PROGRESS_TEXT_H
#define HU_JOURNAL_PROGRESS_TEXT_H
#include "show/json.h"

enum { HU_PROGRESS_TEXT_BYTES = 4096 };

/* The lines of an event, without a final newline; "" of events that people are not told of, and of
 * those that this version does not know. text: room for HU_PROGRESS_TEXT_BYTES. Gives text.
 * Proof: tests/unit/journal_progress_test.c. */
const char *hu_progress_text(const json_t *row, char *text);

/* "epoch", "start", ...: which event it is; "" of a row that is none. Borrowed: valid as the row.
 */
const char *hu_progress_event(const json_t *row);

#endif
