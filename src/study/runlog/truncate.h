/* runlog/truncate.h - the histories of a run folder when a training goes on: cut back to where
 * they stood when its checkpoint was made, rid of what a crash left of lines, and compared with
 * what the checkpoint knows of them. */
#ifndef HU_JOURNAL_TRUNCATE_H
#define HU_JOURNAL_TRUNCATE_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

/* metrics.csv, metrics.jsonl, numerics.jsonl, histograms.jsonl, bits.jsonl. */
enum { HU_HISTORIES = 5 };

/* How far a history went: its bytes, and the step of its last line (-1: it has none). */
typedef struct hu_history_mark {
    int64_t bytes, step;
} hu_history_mark;

/* How far the folder's histories go now; a file that is not there has no bytes. HU_ERR_IO,
 * HU_ERR_MEMORY. */
hu_status hu_history_marks(const char *folder, hu_history_mark mark[HU_HISTORIES]);

/* Leaves in each history the lines that it had when the checkpoint of `step` was made: the steps
 * from there on will write theirs once more.
 *
 *   mark  [HU_HISTORIES] of that checkpoint; NULL: it knows none, and lines of steps below `step`
 *         stay
 *   note  [capacity] gets a line for each file that had parts of lines, and for each that misses
 *         lines that the checkpoint knows, with their steps
 *
 * Files are looked at from their end: their length costs nothing. HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_history_truncate(const char *folder, const hu_history_mark *mark, int64_t step,
                              char *note, size_t capacity);

#endif
