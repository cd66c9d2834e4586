/* engine/parts.h - one step of the rows of some samples, in a slot whose rows have steps.
 *
 * Slots keep them sample by sample: parts are gathered before an op reads them, and stored one by
 * one. A scale or a range is that of one part, so that no step waits for another, and no sample
 * for the others.
 */
#ifndef HU_ENGINE_PARTS_H
#define HU_ENGINE_PARTS_H
#include "engine/slot.h"
#include "op/row_count.h"

typedef struct hu_parts {
    int64_t step;
    int64_t first, count;  /* count samples: */
    const int32_t *sample; /* [count] first + sample[k] */
    const float *lengths;  /* [first + samples] rows of each part that are there: nobody rounds the
                              zeros behind them. NULL: all are there */
    int64_t row;           /* elements of such a row */
} hu_parts;

/* Elements of part k that are there, of n. */
static inline int64_t hu_parts_there(const hu_parts *parts, int64_t n, int64_t k) {
    if (!parts->lengths) return n;
    float length = parts->lengths[parts->first + parts->sample[k]];
    return hu_rows_of_length(length, n / parts->row) * parts->row;
}

/* Elements of one part. */
static inline int64_t hu_part_elements(const hu_slot *slot) {
    return slot->elements / slot->steps;
}

/* Reads the parts into rows [count, elements]. */
void hu_parts_read(const hu_slot *slot, const hu_parts *parts, float *rows);

/* Rounds x [count, elements], counts (NULL: not counted). */
void hu_parts_round(const hu_slot *slot, const hu_slot_context *context, const hu_parts *parts,
                    float *x, hu_round_counts *counts);

/* Stores rounded parts. */
void hu_parts_store(const hu_slot *slot, const hu_parts *parts, const float *x);

/* Stores +0 in the steps from `step` on of one sample. zeros: [elements] */
void hu_parts_clear(const hu_slot *slot, int64_t sample, int64_t step, const float *zeros);

#endif
