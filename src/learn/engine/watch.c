#include "engine/chunk.h"

#include <string.h>

/* ---- what is watched ---- */

static uint32_t parts_of(const hu_run *run, hu_tensor tensor) {
    return tensor.kind == HU_TENSOR_GRADIENT ? hu_contribution_count(run->graph, tensor.value) : 1;
}

uint32_t hu_watch_tally(const hu_run *run, hu_tensor tensor, uint32_t part) {
    if (tensor.kind == HU_TENSOR_VALUE) return hu_tally_of_value(run, tensor.value);
    if (tensor.kind == HU_TENSOR_SUM) return hu_tally_of_sum(run, tensor.value);
    if (tensor.kind == HU_TENSOR_WEIGHTS)
        return run->grad_weights ? hu_tally_of_weights(run, tensor.value) : HU_NONE;
    uint32_t use = hu_contribution_use(run->graph, tensor.value, part);
    return hu_tally_of_use(run, run->stored_as[use]);
}

/* A sum of one contribution that nobody rounds again is that contribution. */
uint32_t hu_run_parts(const hu_run *run, hu_tensor tensor) {
    if (tensor.kind > HU_TENSOR_WEIGHTS) return 0;
    if (tensor.kind == HU_TENSOR_VALUE || tensor.kind == HU_TENSOR_GRADIENT)
        return parts_of(run, tensor);
    if (tensor.kind == HU_TENSOR_WEIGHTS) return hu_weights_view(run, tensor.value) ? 1 : 0;
    if (run->graph->value[tensor.value].role == HU_VALUE_PARAMETER)
        return hu_is_summed_parameter(run->graph, tensor.value);
    uint32_t count = hu_contribution_count(run->graph, tensor.value);
    return count > 1 || (count == 1 && hu_rounds_gradient_sum(run, tensor.value));
}

static bool is_same(hu_tensor a, hu_tensor b) {
    return a.kind == b.kind && a.value == b.value;
}

/* The first entry of a tensor; NULL: it is not watched. */
static const hu_watched *find_entry(const hu_run *run, hu_tensor tensor) {
    for (uint32_t i = 0; run->watch && i < run->watch->count; i++)
        if (is_same(run->watch->entry[i].tensor, tensor)) return &run->watch->entry[i];
    return NULL;
}

bool hu_run_is_watched(const hu_run *run, hu_tensor tensor) {
    return find_entry(run, tensor) != NULL;
}

bool hu_run_has_watched(const hu_run *run, hu_tensor tensor) {
    const hu_watched *entry = find_entry(run, tensor);
    return entry && entry->has_step;
}

/* Whose numbers those of an entry are. */
static const hu_watched *source_of(const hu_run *run, const hu_watched *entry) {
    uint32_t tally = hu_watch_tally(run, entry->tensor, entry->part);
    return tally == HU_NONE ? entry : run->watch->of_tally[tally];
}

int64_t hu_run_watched(const hu_run *run, hu_tensor tensor, int64_t rows, bool rounded, float *x) {
    int64_t count = 0;
    for (uint32_t i = 0; run->watch && i < run->watch->count; i++) {
        const hu_watched *entry = &run->watch->entry[i];
        if (!is_same(entry->tensor, tensor)) continue;
        const hu_watched *from = source_of(run, entry);
        int64_t numbers = (rows < entry->rows ? rows : entry->rows) * entry->elements;
        if (x) memcpy(x + count, rounded ? from->rounded : from->made, (size_t)numbers * sizeof *x);
        count += numbers;
    }
    return count;
}

/* ---- what passes show ---- */

/* Rows that no pass makes are zeros: steps after the end of a sample, and all after an overflow. */
void hu_watch_begin(const hu_run *run) {
    for (uint32_t i = 0; run->watch && i < run->watch->count; i++) {
        hu_watched *entry = &run->watch->entry[i];
        size_t bytes = (size_t)(entry->rows * entry->elements) * sizeof(float);
        entry->has_step = true;
        memset(entry->made, 0, bytes);
        memset(entry->rounded, 0, bytes);
    }
}

static hu_watched *entry_of(const hu_run *run, uint32_t tally) {
    if (!run->watch || tally == HU_NONE || !hu_is_step(run) || run->rehearsal.is_on) return NULL;
    return run->watch->of_tally[tally];
}

/* Steps of a loop stand in the rows of their samples. */
static void look_at_step(const hu_chunk *visit, const hu_tallied_numbers *of, const float *x,
                         hu_watched *entry) {
    const hu_run *run = visit->run;
    const hu_row_lengths *inner = &run->graph->value[of->value].inner;
    const float *lengths =
        inner->lengths == HU_NONE ? NULL : (const void *)run->value[inner->lengths].data;
    int64_t n = hu_chunk_elements(visit, of->slot), before = visit->parts.step * n;
    for (int64_t k = 0; k < visit->count; k++) {
        int64_t sample = visit->parts.first + visit->parts.sample[k];
        int64_t place = (run->pass.first_sample + sample) * entry->elements + before;
        int64_t valid =
            lengths ? hu_rows_of_length(lengths[sample], n / inner->row) * inner->row : n;
        memcpy(entry->made + place, x + k * n, (size_t)n * sizeof *x);
        memcpy(entry->rounded + place, x + k * n, (size_t)n * sizeof *x);
        if (valid > 0 && hu_quantizer_rounds(&of->slot->edge->quantizer))
            hu_slot_round_part(of->slot, &run->context, sample, before, valid,
                               entry->rounded + place, NULL);
    }
}

static void keep_rounded(const hu_run *run, const hu_slot *slot, int64_t first, int64_t rows,
                         const float *x, float *rounded) {
    if (hu_quantizer_rounds(&slot->edge->quantizer))
        hu_slot_round_to(slot, &run->context, first, rows, x, rounded, NULL);
    else
        memcpy(rounded, x, (size_t)(rows * slot->elements) * sizeof *x);
}

void hu_watch_rows(hu_chunk *visit, uint32_t tally, const float *x) {
    const hu_run *run = visit->run;
    hu_watched *entry = entry_of(run, tally);
    if (!entry) return;
    const hu_tallied_numbers of = hu_tallied(run, tally);
    if (visit->loop) {
        look_at_step(visit, &of, x, entry);
        return;
    }
    int64_t place = (run->pass.first_sample + visit->first) * entry->elements;
    memcpy(entry->made + place, x, (size_t)(visit->count * entry->elements) * sizeof *x);
    if (hu_slot_waits(of.slot) && tally < hu_tally_of_sum(run, 0)) return;
    keep_rounded(run, of.slot, visit->first, visit->count, x, entry->rounded + place);
    hu_chunk_clear_rounded(visit, of.slot, of.value, entry->rounded + place);
}

void hu_watch_staged(const hu_run *run, const hu_slot *slot, uint32_t tally, int64_t first,
                     int64_t rows, const float *x) {
    hu_watched *entry = entry_of(run, tally);
    if (!entry) return;
    int64_t place = (run->pass.first_sample + first) * entry->elements;
    keep_rounded(run, slot, first, rows, x, entry->rounded + place);
}

void hu_watch_whole(const hu_run *run, const hu_slot *slot, uint32_t tally, const float *x) {
    hu_watched *entry = entry_of(run, tally);
    if (!entry) return;
    memcpy(entry->made, x, (size_t)entry->elements * sizeof *x);
    keep_rounded(run, slot, 0, 1, x, entry->rounded);
}
