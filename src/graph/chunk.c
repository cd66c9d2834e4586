/* The sample pointers of one chunk: packed tensors are unpacked into the thread's scratch, float32
 * ones are used in place. The same code measures the scratch (base NULL) and fills it. */
#include <omp.h>
#include <string.h>

#include "graph/layout.h"
#include "graph/rescale.h"

int hu_thread_number(void) {
    return omp_get_thread_num();
}

static size_t chunk_bytes(const hu_slot *slot, int64_t count) {
    return (size_t)(slot->elements * count) * sizeof(float);
}

static const float *load(const hu_slot *slot, const hu_op_call *call, hu_bump *bump) {
    if (slot->storage.trait->is_float32)
        return slot->data
                   ? hu_storage_read(&slot->storage, slot->data, call->first, call->count, NULL)
                   : NULL;
    float *scratch = hu_bump_take(bump, chunk_bytes(slot, call->count));
    if (!scratch) return NULL;
    return hu_storage_read(&slot->storage, slot->data, call->first, call->count, scratch);
}

/* Where an op writes rows of a slot: its place, scratch that is packed afterwards, or where rows
 * wait.
 */
static float *room(const hu_slot *slot, const hu_op_call *call, hu_bump *bump) {
    if (slot->storage.trait->is_float32)
        return slot->data ? hu_storage_in_place(&slot->storage, slot->data, call->first) : NULL;
    if (slot->waiting != HU_NONE) return hu_rescale_room(slot, call->first);
    return hu_bump_take(bump, chunk_bytes(slot, call->count));
}

void hu_chunk_forward(hu_run *run, uint32_t node_id, hu_op_call *call, hu_bump *bump) {
    const hu_node *node = &run->graph->node[node_id];
    for (int i = 0; i < node->n_in; i++) call->in[i] = load(&run->value[node->in[i]], call, bump);
    for (int i = 0; i < node->n_out; i++)
        call->out[i] = room(&run->value[node->out[i]], call, bump);
}

static void add_into(size_t n, float *restrict sum, const float *restrict x) {
    for (size_t i = 0; i < n; i++) sum[i] += x[i];
}

static void fill_with(size_t n, float *x, float value) {
    for (size_t i = 0; i < n; i++) x[i] = value;
}

/* Sum of the contributions of a value's consumers, in consumer order. */
static const float *gather(hu_run *run, hu_value_id id, const hu_op_call *call, hu_bump *bump,
                           uint32_t contributions) {
    const hu_value_info *value = &run->graph->value[id];
    size_t n = (size_t)(value->elements * call->count), bytes = n * sizeof(float);
    float *sum = hu_bump_take(bump, bytes);
    float *other = hu_bump_take(bump, contributions > 1 ? bytes : 0);
    bool is_first = true;
    if (!bump->base) return NULL;
    if (contributions == 0) fill_with(n, sum, 0.0f);
    for (uint32_t k = 0; k < value->use_count; k++) {
        if (!hu_use_has_gradient(run->graph, value->uses[k])) continue;
        const hu_slot *slot = &run->grad[value->uses[k]];
        float *target = is_first ? sum : other;
        const float *x =
            hu_storage_read(&slot->storage, slot->data, call->first, call->count, target);
        if (is_first && x != sum) memcpy(sum, x, bytes);
        if (!is_first) add_into(n, sum, x);
        is_first = false;
    }
    return sum;
}

static uint32_t count_contributions(const hu_graph *graph, const hu_value_info *value) {
    uint32_t count = 0;
    for (uint32_t k = 0; k < value->use_count; k++)
        count += hu_use_has_gradient(graph, value->uses[k]);
    return count;
}

/* The slot of a value's one contribution. */
static const hu_slot *only_contribution(const hu_run *run, const hu_value_info *value) {
    uint32_t k = 0;
    while (!hu_use_has_gradient(run->graph, value->uses[k])) k++;
    return &run->grad[value->uses[k]];
}

/* Rounding a contribution again to the grid it is on changes nothing. */
static bool sum_needs_rounding(const hu_run *run, hu_value_id id, uint32_t contributions) {
    const hu_quantizer *sum = &run->grad_sum[id].edge->quantizer;
    if (!hu_quantizer_rounds(sum)) return false;
    if (contributions != 1) return contributions > 1;
    const hu_quantizer *one = &only_contribution(run, &run->graph->value[id])->edge->quantizer;
    return !hu_quantizer_same_numbers(one, sum);
}

bool hu_chunk_rounds_sum(const hu_run *run, hu_value_id id) {
    return sum_needs_rounding(run, id, count_contributions(run->graph, &run->graph->value[id]));
}

const float *hu_chunk_gradient_sum(hu_run *run, hu_value_id id, const hu_op_call *call,
                                   hu_bump *bump) {
    return gather(run, id, call, bump, count_contributions(run->graph, &run->graph->value[id]));
}

static const float *load_gradient(hu_run *run, uint32_t node_id, hu_value_id id,
                                  const hu_op_call *call, hu_bump *bump,
                                  hu_round_counts *sum_counts) {
    const hu_value_info *value = &run->graph->value[id];
    if (node_id == run->graph->loss_node) {
        float *seed = hu_bump_take(bump, (size_t)call->count * sizeof(float));
        if (seed) fill_with((size_t)call->count, seed, run->pass.seed_gradient);
        return seed;
    }
    uint32_t contributions = count_contributions(run->graph, value);
    bool rounds = sum_needs_rounding(run, id, contributions);
    if (contributions == 1 && !rounds) return load(only_contribution(run, value), call, bump);
    const float *sum = gather(run, id, call, bump, contributions);
    if (sum && rounds)
        hu_slot_round(&run->grad_sum[id], &run->context, call->first, call->count, (float *)sum,
                      sum_counts);
    return sum;
}

void hu_chunk_backward(hu_run *run, uint32_t node_id, hu_op_call *call, hu_bump *bump,
                       hu_round_counts *sum_counts, bool with_outputs) {
    const hu_node *node = &run->graph->node[node_id];
    for (int i = 0; i < node->n_out; i++)
        call->dout[i] = load_gradient(run, node_id, node->out[i], call, bump,
                                      sum_counts ? &sum_counts[i] : NULL);
    for (int i = 0; i < node->n_in; i++) {
        bool saved = i < 16 && (node->op->saves >> i & 1u);
        call->in[i] = saved ? load(&run->value[node->in[i]], call, bump) : NULL;
    }
    for (int i = 0; i < node->n_out; i++) {
        bool saved = i == 0 && (node->op->saves & HU_SAVE_OUTPUT_0);
        call->out[i] = saved ? (float *)load(&run->value[node->out[i]], call, bump) : NULL;
    }
    for (int i = 0; with_outputs && i < node->n_in; i++) {
        const hu_slot *slot = &run->grad[node->first_use + (uint32_t)i];
        call->din[i] = node->need_din[i] ? room(slot, call, bump) : NULL;
    }
}
