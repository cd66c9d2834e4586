#include "engine/padding.h"

#include <string.h>

#include "engine/scale.h"
#include "op/row_count.h"

/* Numbers of sample s of the pass that are there, the first ones of its row. */
static int64_t there(const hu_run *run, const hu_value_info *value, int64_t s) {
    const float *lengths = (const void *)run->value[value->ends.lengths].data;
    return hu_rows_of_length(lengths[s], value->elements / value->ends.row) * value->ends.row;
}

/* Numbers of each step of sample s that are there. */
static int64_t there_in_step(const hu_run *run, const hu_value_info *value, int64_t s) {
    const float *lengths = (const void *)run->value[value->inner.lengths].data;
    int64_t n = value->elements / value->steps;
    return hu_rows_of_length(lengths[s], n / value->inner.row) * value->inner.row;
}

static void clear_from(float *x, int64_t first, int64_t end) {
    memset(x + first, 0, (size_t)(end - first) * sizeof *x);
}

void hu_padding_clear(const hu_run *run, hu_value_id v, int64_t first, int64_t count, float *x) {
    const hu_value_info *value = &run->graph->value[v];
    bool has_inner = value->inner.lengths != HU_NONE;
    int64_t step = value->elements / value->steps;
    for (int64_t s = first; s < first + count; s++, x += value->elements) {
        clear_from(x, there(run, value, s), value->elements);
        for (int64_t t = 0; has_inner && t < value->steps; t++)
            clear_from(x + t * step, there_in_step(run, value, s), step);
    }
}

void hu_padding_clear_parts(const hu_run *run, hu_value_id v, const hu_parts *parts, float *x) {
    const hu_value_info *value = &run->graph->value[v];
    int64_t n = value->elements / value->steps;
    for (int64_t k = 0; k < parts->count; k++)
        clear_from(x + k * n, there_in_step(run, value, parts->first + parts->sample[k]), n);
}

hu_parts hu_padding_parts(const hu_run *run, hu_value_id v, hu_parts parts) {
    const hu_ends *inner = &run->graph->value[v].inner;
    if (inner->lengths == HU_NONE) return parts;
    parts.lengths = (const void *)run->value[inner->lengths].data;
    parts.row = inner->row;
    return parts;
}

void hu_padding_add_extremes(const hu_run *run, const hu_slot *slot, hu_value_id v, int64_t first,
                             int64_t count, const float *x, hu_tally *tally) {
    const hu_value_info *value = &run->graph->value[v];
    for (int64_t s = 0; s < count; s++)
        hu_scale_add_maximum(slot, tally, there(run, value, first + s), x + s * value->elements);
}

uint64_t hu_padding_elements(const hu_run *run, hu_value_id v) {
    const hu_value_info *value = &run->graph->value[v];
    int64_t padding = 0, step = value->elements / value->steps;
    for (int64_t s = 0; s < run->pass.samples; s++) {
        int64_t n = there(run, value, s);
        padding += value->elements - n;
        if (value->inner.lengths != HU_NONE)
            padding += n / step * (step - there_in_step(run, value, s));
    }
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
