/* engine/padding.h - rows of samples that are padding (graph/ends.h): zeros, which nobody counts.
 *
 * Whoever has made numbers of a value or of its gradient clears these rows before they are rounded.
 * Zeros stay zeros in a number format and make no scale larger: what remains is to leave them out
 * of the counters. A uniform quantizer may have no zero: its range is that of the other rows, and
 * the rows are cleared again where rounded numbers are read.
 *
 * A loop has the steps that are there and no others (graph/loop.h). What it makes of rows that a
 * node holds has padding in every step, which is cleared, and not looked at when the step is
 * rounded.
 */
#ifndef HU_ENGINE_PADDING_H
#define HU_ENGINE_PADDING_H
#include "engine/parts.h"
#include "engine/state.h"

/* True if the value has padding in some batch. */
static inline bool hu_has_padding(const hu_run *run, hu_value_id v) {
    return run->graph->value[v].ends.lengths != HU_NONE;
}

/* The lengths of the rows of a value, in a step of a loop or of the whole; HU_NONE: there is no
 * padding. */
static inline hu_value_id hu_padding_lengths(const hu_run *run, hu_value_id v, bool in_step) {
    const hu_value_info *value = &run->graph->value[v];
    return in_step ? value->inner.lengths : value->ends.lengths;
}

/* Zeroes the padding of x [count, elements of v], samples from `first` on. */
void hu_padding_clear(const hu_run *run, hu_value_id v, int64_t first, int64_t count, float *x);

/* The same of one step: x [count of the parts, elements of a step]. */
void hu_padding_clear_parts(const hu_run *run, hu_value_id v, const hu_parts *parts, float *x);

/* The parts with the lengths of the value's rows in each of them. */
hu_parts hu_padding_parts(const hu_run *run, hu_value_id v, hu_parts parts);

/* As hu_scale_add_maximum, of all rows of x [count, elements of v] but the padding. */
void hu_padding_add_extremes(const hu_run *run, const hu_slot *slot, hu_value_id v, int64_t first,
                             int64_t count, const float *x, hu_tally *tally);

/* Numbers of the value that are padding in the present pass. */
uint64_t hu_padding_elements(const hu_run *run, hu_value_id v);

/* Takes out of counts what these zeros were counted as when the slot rounded them. */
void hu_padding_uncount(const hu_run *run, const hu_slot *slot, hu_value_id v,
                        hu_round_counts *counts);

#endif
