/* runlog/events.h - what can befall the numbers of a tensor in a step
 * (docs/reference/run-folder.md). */
#ifndef HU_JOURNAL_EVENTS_H
#define HU_JOURNAL_EVENTS_H
#include <stdbool.h>

#include <halfulp/round.h>

#include "base/text_file.h"
#include "graph/edge.h"

/* Share of a tensor's numbers from which an event counts: of those that overflow, and of the
 * nonzero ones that vanish. */
#define HU_EVENT_SATURATION 0.01
#define HU_EVENT_UNDERFLOW 0.5

/* And of the elements of a parameter whose update was not zero. */
#define HU_EVENT_LOST 0.5

/* And of the sums of a product in a counted step: of those beyond the largest finite number, of
 * those that a format without subnormals flushed, and of terms of two nonzero factors that changed
 * nothing. */
#define HU_SUMS_SATURATED 0.01
#define HU_SUMS_FLUSHED 0.5
#define HU_SUMS_STALLED 0.9

enum {
    HU_EVENT_OF_NAN,
    HU_EVENT_OF_INFINITY, /* of a tensor that is not rounded */
    HU_EVENT_OF_OVERFLOW,
    HU_EVENT_OF_SATURATION,
    HU_EVENT_OF_UNDERFLOW,
    HU_EVENT_OF_ZERO,
    HU_EVENT_OF_UPDATE, /* a weight that the optimizer left infinite or NaN */
    HU_EVENT_OF_LOST,   /* updates that the format of the weights does not hold, without masters */
    HU_EVENT_OF_EVALUATION, /* infinite or NaN in an evaluation */
    HU_EVENTS
};

/* What is counted of one tensor in one step. */
typedef struct hu_event_counts {
    hu_round_counts rounding;
    hu_update_counts update; /* of parameters */
} hu_event_counts;

/* "nan", "infinity", ... Borrowed: valid for ever. */
const char *hu_event_name(int event);

/* The events of a tensor's counts in one step, as bits 1 << event. */
unsigned hu_events_of(const hu_event_counts *counts, bool rounds);

/* How many numbers an event befell. */
uint64_t hu_event_count(const hu_event_counts *counts, int event);

/* Elements of the tensor; of lost updates: those that were not zero. */
uint64_t hu_event_elements(const hu_event_counts *counts, int event);

/* ---- held ---- */

/* In how many steps the events of a tensor held, and how much they took: what the
 * list "held" of a row says (docs/reference/run-folder.md). */

/* One event of one tensor. */
typedef struct hu_event_duration {
    uint64_t steps; /* in which it held */
    int64_t last;   /* of them */
    uint64_t count,
        of; /* numbers that it befell, and that it could have befallen, in all of them */
} hu_event_duration;

/* Adds a step with these events (bits 1 << event) to the tensor's [HU_EVENTS]. */
void hu_event_duration_add(hu_event_duration *held, unsigned events, const hu_event_counts *counts,
                           int64_t step);

/* Writes [name, kind, steps, last, count, of] for each event that held, commas between them.
 * is_first: nothing stands in the list yet. */
void hu_event_duration_write(hu_append *file, const char *name, const hu_event_duration *held,
                             bool *is_first);

#endif
