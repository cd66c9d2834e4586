#include "engine/chunk.h"

#include <string.h>

bool hu_exponent_record_has_room(const hu_run *run) {
    return run->histogram != NULL;
}

bool hu_exponent_record_has(const hu_run *run, uint64_t step) {
    return run->has_record && run->record_step == step;
}

void hu_exponent_record_begin(hu_run *run, uint64_t step) {
    if (!run->histogram) return;
    memset(run->histogram, 0, hu_tally_count(run) * sizeof *run->histogram);
    run->records = run->has_record = true;
    run->record_step = step;
}

void hu_exponent_record_end(hu_run *run) {
    run->records = false;
}

void hu_exponent_record_go_on(hu_run *run, uint64_t step) {
    run->records = hu_exponent_record_has(run, step);
}

void hu_exponent_record_rows(hu_run *run, uint32_t tally, int64_t n, const float *x) {
    if (!run->records || run->repeats) return;
    hu_histogram rows = {0};
    (void)hu_histogram_add((size_t)n, x, 1, &rows);
    hu_histogram_merge(&run->histogram[tally], &rows);
}

void hu_exponent_record_whole(hu_run *run, uint32_t tally, int64_t n, const float *x) {
    enum { BLOCK = 1 << 16 };
    if (!run->records) return;
#pragma omp parallel for num_threads(run->options.threads) if (n > BLOCK) schedule(static)
    for (int64_t first = 0; first < n; first += BLOCK)
        hu_exponent_record_rows(run, tally, n - first < BLOCK ? n - first : BLOCK, x + first);
}

void hu_exponent_record_parameters(hu_run *run) {
    for (hu_value_id v = 0; v < run->graph->value_count && run->records; v++) {
        const hu_value_info *value = &run->graph->value[v];
        if (value->role == HU_VALUE_PARAMETER)
            hu_exponent_record_whole(run, hu_tally_of_value(run, v), value->elements,
                                     hu_weights_of(run->weights, v));
    }
}

static bool add(const hu_run *run, uint32_t tally, hu_histogram *total) {
    if (!run->histogram || run->histogram[tally].elements == 0) return false;
    hu_histogram_merge(total, &run->histogram[tally]);
    return true;
}

bool hu_exponent_record_value(const hu_run *run, hu_value_id v, hu_histogram *total) {
    return add(run, hu_tally_of_value(run, v), total);
}

bool hu_exponent_record_gradient(const hu_run *run, hu_value_id v, hu_histogram *total) {
    const hu_value_info *value = &run->graph->value[v];
    bool is_present = false;
    for (uint32_t k = 0; k < value->use_count; k++)
        is_present |= add(run, hu_tally_of_use(run, run->stored_as[value->uses[k]]), total);
    return is_present;
}

static bool hu_exponent_record_weights(const hu_run *run, hu_value_id v, hu_histogram *total) {
    return hu_weights_view(run, v) && add(run, hu_tally_of_weights(run, v), total);
}

bool hu_exponent_record_sum(const hu_run *run, hu_value_id v, hu_histogram *total) {
    return add(run, hu_tally_of_sum(run, v), total);
}

bool hu_exponent_record_tensor(const hu_run *run, hu_tensor tensor, hu_histogram *total) {
    if (tensor.kind == HU_TENSOR_VALUE) return hu_exponent_record_value(run, tensor.value, total);
    if (tensor.kind == HU_TENSOR_SUM) return hu_exponent_record_sum(run, tensor.value, total);
    if (tensor.kind == HU_TENSOR_WEIGHTS)
        return hu_exponent_record_weights(run, tensor.value, total);
    if (tensor.kind == HU_TENSOR_GRADIENT)
        return hu_exponent_record_gradient(run, tensor.value, total);
    if (!hu_tensor_is_state(tensor)) return false;
    const hu_histogram *state = hu_tensor_state(run->edges, tensor)->exponents;
    if (state) hu_histogram_merge(total, state);
    return state != NULL;
}

hu_round_counts hu_exponent_record_counts(const hu_histogram *x) {
    enum { NORMAL = -126 - HU_HISTOGRAM_LEAST };
    hu_round_counts counts;
    hu_round_counts_clear(&counts);
    counts.elements = x->elements;
    counts.overflow = x->infinite;
    counts.nan = x->nan;
    counts.zero = x->zero;
    for (int32_t i = 0; i < HU_HISTOGRAM_BINS; i++) {
        if (x->bin[i] == 0) continue;
        if (i < NORMAL) counts.subnormal += x->bin[i];
        if (counts.min_exponent == HU_NO_EXPONENT) counts.min_exponent = HU_HISTOGRAM_LEAST + i;
        counts.max_exponent = HU_HISTOGRAM_LEAST + i;
    }
    return counts;
}
