/* runlog/follow.h - progress.jsonl read while somebody writes it.
 *
 * Rows come as soon as they are whole. What is no row (half of one that a killed process left, or a
 * line longer than any) is passed over.
 */
#ifndef HU_JOURNAL_FOLLOW_H
#define HU_JOURNAL_FOLLOW_H
#include <stdbool.h>

#include "render/json.h"

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
