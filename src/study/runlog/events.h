/* runlog/events.h - what can befall the numbers of a tensor in a step
 * (docs/reference/run-folder.md), and how many tensors and sums of a training are in trouble. */
#ifndef HU_RUNLOG_EVENTS_H
#define HU_RUNLOG_EVENTS_H
#include <stdbool.h>

#include <halfulp/gemm.h>
#include <halfulp/round.h>

#include "base/text_file.h"
#include "graph/edge.h"
#include "graph/tensor_order.h"

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

/* "nan", "infinity", ... Borrowed: valid forever. */
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

/* How many tensors and sums of a training are in trouble: one measure for what
 * the training says while it runs and at its end, for `why` and for the report.
 *
 * A tensor is if it lost half of its nonzero numbers or more to rounding in some step, or if it was
 * all zero and is made of one that is. Parameters of one dimension and their gradients are left
 * out: such numbers are small enough to vanish without harm. Sums of a product are if in some
 * counted step that was done 1 % of them were beyond their accumulator, half became zero in one
 * that flushes, or 90 % of their terms changed nothing. Proof:
 * tests/program/why_sums_test.py, output_test.py */

typedef struct hu_trouble {
    uint32_t lost; /* tensors that lost half of their nonzero numbers or more */
    uint32_t gone; /* others that got nothing but zeros, from such */
    uint32_t sums; /* products whose sums were beyond, below or too large for their accumulator */
} hu_trouble;

/* True for parameters of one dimension: such numbers may vanish without harm. */
bool hu_parameter_is_vector(const hu_value_info *value);

/* The same of them and of their gradients, wherever they are. */
bool hu_tensor_is_vector(const hu_graph *graph, hu_tensor tensor);

/* Tensors of a walk. befallen: [walk->count], what has ever befallen each, bits 1 << event; marked:
 * [walk->count], overwritten: which are in trouble. */
void hu_trouble_of_tensors(const hu_tensor_order *walk, const uint16_t *befallen, bool *marked,
                           hu_trouble *trouble);

/* Largest shares of one counted step: of sums that were beyond the largest finite number, of those
 * that were subnormal, of terms that changed nothing. */
bool hu_sums_are_in_trouble(const hu_accumulator *accumulator, double beyond, double subnormal,
                            double stalled);

/* Whether there is any. */
bool hu_is_in_trouble(const hu_trouble *trouble);

/* "1 tensor lost half of its nonzero numbers or more, 14 after it are all zero; sums of 2 products
 * overflowed, vanished or stopped growing in their accumulators": the predicate of a sentence; ""
 * where there is none. Gives text. */
enum { HU_TROUBLE_BYTES = 256 };
const char *hu_trouble_words(const hu_trouble *trouble, char text[HU_TROUBLE_BYTES]);

/* ---- counted ---- */

/* What only some steps count: the lists "products" and "updates" of a row
 * (docs/reference/run-folder.md). Each is left out where the present step has not counted it. */

/* Products with a chosen accumulator. */
void hu_product_counts_write(hu_append *file, const hu_graph *graph, const hu_edge_table *edges);

/* Marks those whose sums are in trouble in the present step: failed [node_count][HU_PRODUCT_ROLES].
 * Gives whether there is a new one. */
bool hu_product_counts_trouble(const hu_edge_table *edges, uint8_t *failed);

/* What became of the updates of parameters. */
void hu_update_counts_write(hu_append *file, const hu_graph *graph, const hu_edge_table *edges);

#endif
