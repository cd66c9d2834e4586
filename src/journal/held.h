/* journal/held.h - in how many steps the events of a tensor held, and how much they took: what the
 * list "held" of a row says (docs/run-folder.md). */
#ifndef HU_JOURNAL_HELD_H
#define HU_JOURNAL_HELD_H
#include "base/text_file.h"
#include "journal/events.h"

/* One event of one tensor. */
typedef struct hu_held {
    uint64_t steps; /* in which it held */
    int64_t last;   /* of them */
    uint64_t count,
        of; /* numbers that it befell, and that it could have befallen, in all of them */
} hu_held;

/* Adds a step with these events (bits 1 << event) to the tensor's [HU_EVENTS]. */
void hu_held_add(hu_held *held, unsigned events, const hu_event_counts *counts, int64_t step);

/* Writes [name, kind, steps, last, count, of] for each event that held, commas between them.
 * is_first: nothing stands in the list yet. */
void hu_held_write(hu_append *file, const char *name, const hu_held *held, bool *is_first);

#endif
