#include "engine/padding.h"

#include <string.h>

#include "engine/scale.h"
#include "op/row_count.h"

/* Numbers of sample s of the pass that are there, the first ones of its row. */
static int64_t there(const hu_run *run, const hu_value_info *value, int64_t s) {
    const float *lengths = (const void *)run->value[value->ends.lengths].data;
    return hu_rows_of_length(lengths[s], value->elements / value->ends.row) * value->ends.row;
}

void hu_padding_clear(const hu_run *run, hu_value_id v, int64_t first, int64_t count, float *x) {
    const hu_value_info *value = &run->graph->value[v];
    for (int64_t s = 0; s < count; s++, x += value->elements) {
        int64_t n = there(run, value, first + s);
        memset(x + n, 0, (size_t)(value->elements - n) * sizeof *x);
    }
}

void hu_padding_add_extremes(const hu_run *run, const hu_slot *slot, hu_value_id v, int64_t first,
                             int64_t count, const float *x, hu_tally *tally) {
    const hu_value_info *value = &run->graph->value[v];
    for (int64_t s = 0; s < count; s++)
        hu_scale_add_maximum(slot, tally, there(run, value, first + s), x + s * value->elements);
}

uint64_t hu_padding_elements(const hu_run *run, hu_value_id v) {
    const hu_value_info *value = &run->graph->value[v];
    int64_t padding = 0;
    for (int64_t s = 0; s < run->pass.samples; s++)
        padding += value->elements - there(run, value, s);
    return (uint64_t)padding;
}

/* Zeros from element `first` of sample s to its end, rounded once more. */
static void count_zeros(const hu_run *run, const hu_slot *slot, int64_t s, int64_t first,
                        hu_round_counts *counts) {
    enum { PART = 1024 };
    static const float zeros[PART];
    const hu_random_key key = {run->context.seed, slot->stream, run->context.step};
    float rounded[PART];
    hu_uniformer part = *slot->uniformer;
    for (; first < slot->elements; first += part.row_elements) {
        int64_t left = slot->elements - first;
        part.row_elements = left < PART ? left : PART;
        hu_uniform_round(&part, slot->scale, 1, zeros, rounded, &key,
                         (uint64_t)((run->context.first_row + s) * slot->elements + first), counts);
    }
}

static uint64_t less(uint64_t n, uint64_t by) {
    return n > by ? n - by : 0;
}

void hu_padding_uncount(const hu_run *run, const hu_slot *slot, hu_value_id v,
                        hu_round_counts *counts) {
    hu_round_counts of_zeros;
    hu_round_counts_clear(&of_zeros);
    of_zeros.elements = of_zeros.zero = slot->uniformer ? 0 : hu_padding_elements(run, v);
    for (int64_t s = 0; slot->uniformer && s < run->pass.samples; s++)
        count_zeros(run, slot, s, there(run, &run->graph->value[v], s), &of_zeros);
    counts->elements = less(counts->elements, of_zeros.elements);
    counts->zero = less(counts->zero, of_zeros.zero);
    counts->nan = less(counts->nan, of_zeros.nan);
    counts->overflow = less(counts->overflow, of_zeros.overflow);
    counts->underflow = less(counts->underflow, of_zeros.underflow);
}
