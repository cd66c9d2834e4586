/* engine/padding.h - rows of samples that are padding (graph/ends.h): zeros, which nobody counts.
 *
 * Whoever has made numbers of a value or of its gradient clears these rows before they are rounded.
 * Zeros stay zeros in a number format and make no scale larger: what remains is to leave them out
 * of the counters. A uniform quantizer may have no zero: its range is that of the other rows, and
 * the rows are cleared again where rounded numbers are read. In the steps of a loop nothing of this
 * applies: they have the rows that are there and no others (graph/loop.h).
 */
#ifndef HU_ENGINE_PADDING_H
#define HU_ENGINE_PADDING_H
#include "engine/state.h"

/* True if the value has padding in some batch. */
static inline bool hu_has_padding(const hu_run *run, hu_value_id v) {
    return run->graph->value[v].ends.lengths != HU_NONE;
}

/* Zeroes the padding of x [count, elements of v], samples from `first` on. */
void hu_padding_clear(const hu_run *run, hu_value_id v, int64_t first, int64_t count, float *x);

/* As hu_scale_add_maximum, of all rows of x [count, elements of v] but the padding. */
void hu_padding_add_extremes(const hu_run *run, const hu_slot *slot, hu_value_id v, int64_t first,
                             int64_t count, const float *x, hu_tally *tally);

/* Numbers of the value that are padding in the present pass. */
uint64_t hu_padding_elements(const hu_run *run, hu_value_id v);

/* Takes out of counts what these zeros were counted as when the slot rounded them. */
void hu_padding_uncount(const hu_run *run, const hu_slot *slot, hu_value_id v,
                        hu_round_counts *counts);

#endif
