/* runlog/progress.h - progress.jsonl: what happened in a training, a comparison or a search, an
 * event a row, for whoever follows it while it runs (docs/reference/run-folder.md).
 *
 * Rows are only appended. A run that goes on adds a "start" of its own, so that rows of steps that
 * were lost with a killed process stay: the file tells what happened, not what a training is.
 */
#ifndef HU_RUNLOG_PROGRESS_H
#define HU_RUNLOG_PROGRESS_H
#include <stdbool.h>

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

/* ---- For people ---- */

/* An event of progress.jsonl as lines for people: a training prints them,
 * and so does whoever follows it. */

enum { HU_PROGRESS_TEXT_BYTES = 4096 };

/* The lines of an event, without a final newline; "" of events that people are not told of, and of
 * those that this version does not know. text: room for HU_PROGRESS_TEXT_BYTES. Gives text.
 * Proof: tests/unit/runlog_progress_test.c. */
const char *hu_progress_text(const json_t *row, char *text);

/* "epoch", "start", ...: which event it is; "" of a row that is none. Borrowed: valid as the row.
 */
const char *hu_progress_event(const json_t *row);

/* Progress.jsonl read while somebody writes it.
 *
 * Rows come as soon as they are whole. What is no row (half of one that a killed process left, or a
 * line longer than any) is passed over */

typedef struct hu_follow hu_follow;

/* Opens the file of a folder, which may not be there yet. Owner closes. HU_ERR_MISSING: there is no
 * such folder; HU_ERR_MEMORY. */
hu_status hu_follow_open(const char *folder, hu_follow **follow);

/* The next row, a new reference; NULL where the file has no further whole row now. HU_ERR_IO. */
hu_status hu_follow_next(hu_follow *follow, json_t **row);
void hu_follow_close(hu_follow *follow);

/* What the rows of a folder come to: how far a run was when its latest row was written. */
typedef struct hu_run_standing {
    bool is_present;         /* there is a row at all */
    int64_t step, steps;     /* -1: no row says so */
    double epoch, epochs;    /* NaN: likewise */
    double metric, best;     /* of the latest evaluation, and the best one; NaN: there was none */
    char name[64], part[16]; /* of the metric: "accuracy", "test"; "": likewise */
    char state[32];          /* of the latest end; "": it has not ended since it last began */
    char verb[16];           /* of a folder of several trainings: "compare"; "": likewise */
    int64_t rows,
        done; /* trainings, and those that have ended; -1: no row says so. All since the */
    int64_t failed, diverged; /* last beginning */
    json_t *starts; /* [{"time", "halfulp", "command"}, ...]: how it was begun, each time, as far as
                       rows say so; owned */
} hu_run_standing;

/* Reads all rows. A folder without any: is_there is false. Owner frees with hu_run_standing_free,
 * after a failure too. HU_ERR_MISSING, HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_run_standing_read(const char *folder, hu_run_standing *standing);
void hu_run_standing_free(hu_run_standing *standing);

/* Whether a process works in the folder (hu_run_folder_lock). */
bool hu_run_folder_is_locked(const char *folder);

#endif
