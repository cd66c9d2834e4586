#include "engine/chunk.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/memory.h"

/* One row of numbers that a pass makes: of a value or a sum, or one contribution to a gradient. */
typedef struct hu_watched {
    hu_tensor tensor;
    uint32_t part; /* of a gradient: which of its contributions, in the order of the consumers */
    int64_t rows, elements;
    float *made, *rounded; /* [rows, elements]; NULL before the first pass that makes them */
} hu_watched;

struct hu_watch {
    hu_watched *entry; /* [count] */
    uint32_t count;
    hu_watched **of_tally; /* [hu_tally_count] NULL: nobody looks */
};

/* ---- what is watched ---- */

static uint32_t parts_of(const hu_run *run, hu_tensor tensor) {
    return tensor.kind == HU_TENSOR_GRADIENT ? hu_contribution_count(run->graph, tensor.value) : 1;
}

static uint32_t tally_of(const hu_run *run, hu_tensor tensor, uint32_t part) {
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

bool hu_run_is_watched(const hu_run *run, hu_tensor tensor) {
    for (uint32_t i = 0; run->watch && i < run->watch->count; i++)
        if (is_same(run->watch->entry[i].tensor, tensor)) return true;
    return false;
}

static void release(hu_watched *entry) {
    hu_free(entry->made);
    hu_free(entry->rounded);
}

void hu_watch_free(hu_watch *watch) {
    if (!watch) return;
    for (uint32_t i = 0; i < watch->count; i++) release(&watch->entry[i]);
    hu_free(watch->entry);
    hu_free(watch->of_tally);
    hu_free(watch);
}

/* Two contributions that are stored as one are looked at by the first entry; the others read it. */
static hu_status index_entries(const hu_run *run, hu_watch *watch) {
    hu_status st = HU_OK;
    hu_free(watch->of_tally);
    watch->of_tally = NULL;
    HU_TRY(HU_NEW_ARRAY(&watch->of_tally, hu_tally_count(run)));
    for (uint32_t i = 0; i < watch->count; i++) {
        uint32_t tally = tally_of(run, watch->entry[i].tensor, watch->entry[i].part);
        if (tally != HU_NONE && !watch->of_tally[tally]) watch->of_tally[tally] = &watch->entry[i];
    }
done:
    return st;
}

hu_status hu_watch_carry(hu_run *run, hu_watch *watch) {
    run->watch = watch;
    return watch ? index_entries(run, watch) : HU_OK;
}

static hu_status make_entry(const hu_run *run, hu_tensor tensor, uint32_t part, int64_t rows,
                            hu_watched *entry) {
    hu_status st = HU_OK;
    const hu_value_info *value = &run->graph->value[tensor.value];
    bool is_whole = value->role == HU_VALUE_PARAMETER;
    int64_t numbers;
    *entry = (hu_watched){tensor, part, is_whole ? 1 : rows, value->elements, NULL, NULL};
    if (!hu_mul_i64(entry->rows, entry->elements, &numbers))
        return hu_fail(HU_ERR_LIMIT, "%s: more numbers than can be kept", value->name);
    HU_TRY(HU_NEW_ARRAY(&entry->made, (size_t)numbers));
    HU_TRY(HU_NEW_ARRAY(&entry->rounded, (size_t)numbers));
done:
    if (st != HU_OK) release(entry);
    return st;
}

/* The entries before stay as they are after a failure. */
static hu_status add_entries(hu_run *run, hu_tensor tensor, int64_t rows) {
    hu_status st = HU_OK;
    hu_watch *watch = run->watch;
    uint32_t more = parts_of(run, tensor), part = 0;
    hu_watched *entry = NULL, *before = watch->entry;
    HU_TRY(HU_NEW_ARRAY(&entry, (size_t)watch->count + more));
    if (watch->count > 0) memcpy(entry, before, watch->count * sizeof *entry);
    for (; part < more; part++)
        HU_TRY(make_entry(run, tensor, part, rows, &entry[watch->count + part]));
    watch->entry = entry;
    watch->count += more;
    entry = NULL;
    hu_free(before);
    st = index_entries(run, watch);
done:
    while (entry && part-- > 0) release(&entry[watch->count + part]);
    hu_free(entry);
    return st;
}

hu_status hu_run_watch(hu_run *run, hu_tensor tensor, int64_t rows) {
    hu_status st = HU_OK;
    if (hu_run_is_watched(run, tensor)) return HU_OK;
    if (!run->watch) HU_TRY(HU_NEW(&run->watch));
    HU_TRY(add_entries(run, tensor, rows));
done:
    return st;
}

void hu_run_unwatch(hu_run *run) {
    hu_watch_free(run->watch);
    run->watch = NULL;
}

/* Whose numbers those of an entry are. */
static const hu_watched *source_of(const hu_run *run, const hu_watched *entry) {
    uint32_t tally = tally_of(run, entry->tensor, entry->part);
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
        const hu_watched *entry = &run->watch->entry[i];
        size_t bytes = (size_t)(entry->rows * entry->elements) * sizeof(float);
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
