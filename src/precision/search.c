#include "precision/search.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"

const char *hu_search_order_name(hu_search_order order) {
    static const char *const names[HU_SEARCH_ORDERS] = {"size",  "loss", "rounding",
                                                        "trade", "ends", "random"};
    return names[order];
}

/* What every group saves if it goes low, gradients included. */
static void add_bits(const hu_assignment_task *task, hu_search_groups *groups) {
    for (hu_value_id v = 0; v < task->graph->value_count; v++) {
        uint32_t g = task->groups->of_value[v];
        if (g == HU_NONE) continue;
        int64_t high = hu_candidate_bits(task, v, false, false);
        groups->all_high += high;
        groups->saved[g] += high - hu_candidate_bits(task, v, true, true);
    }
}

hu_status hu_search_groups_create(const hu_precision *precision, const hu_graph *graph,
                                  int64_t batch, hu_search_groups *groups) {
    enum { FLOAT32_BITS = 32 };
    hu_status st;
    hu_edge_table edges = {0};
    *groups = (hu_search_groups){0};
    HU_TRY(hu_edge_table_create(graph, &edges));
    /* Scaling does not matter here: it changes what overflows become, not how many bits they have.
     */
    HU_TRY(hu_precision_write(precision, graph, batch, false, &edges));
    HU_TRY(hu_tensor_groups_create(graph, &edges, batch, &groups->tensors));
    HU_TRY(HU_NEW_ARRAY(&groups->saved, groups->tensors.count));
    HU_TRY(HU_NEW_ARRAY(&groups->loss, groups->tensors.count));
    HU_TRY(HU_NEW_ARRAY(&groups->rounding, groups->tensors.count));
    hu_assignment_task task = {.graph = graph,
                               .edges = &edges,
                               .groups = &groups->tensors,
                               .high = precision->high,
                               .low = precision->low,
                               .batch = batch};
    add_bits(&task, groups);
    groups->all_plain = FLOAT32_BITS * groups->tensors.all;
done:
    hu_edge_table_free(&edges);
    if (st != HU_OK) hu_search_groups_free(groups);
    return st;
}

void hu_search_groups_free(hu_search_groups *groups) {
    hu_tensor_groups_free(&groups->tensors);
    hu_free(groups->saved);
    hu_free(groups->loss);
    hu_free(groups->rounding);
    *groups = (hu_search_groups){0};
}

/* How many groups lose more than this one. */
static uint32_t rank_of_loss(const hu_search_groups *groups, uint32_t group) {
    uint32_t rank = 0;
    for (uint32_t g = 0; g < groups->tensors.count; g++)
        rank += groups->loss[g] > groups->loss[group];
    return rank;
}

/* Groups that an order keeps for the end. */
static bool is_late(const hu_search_groups *groups, hu_search_order order, uint32_t group) {
    enum { PART = 4, ENDS = 2 };
    if (order == HU_SEARCH_TRADE)
        return groups->loss[group] > 0.0 &&
               rank_of_loss(groups, group) < groups->tensors.count / PART;
    if (order == HU_SEARCH_ENDS) return group < ENDS || group + ENDS >= groups->tensors.count;
    return false;
}

/* Of equals the larger group first, then the earlier one: no order is left to chance. */
static bool comes_before(const hu_search_groups *groups, hu_search_order order, uint32_t a,
                         uint32_t b) {
    bool a_late = is_late(groups, order, a), b_late = is_late(groups, order, b);
    if (a_late != b_late) return b_late;
    const double *loss = order == HU_SEARCH_LOSS       ? groups->loss
                         : order == HU_SEARCH_ROUNDING ? groups->rounding
                                                       : NULL;
    /* Loss for a saved bit, without a division: a group may save nothing. */
    double a_first = loss ? loss[a] * (double)groups->saved[b] : 0.0;
    double b_first = loss ? loss[b] * (double)groups->saved[a] : 0.0;
    if (a_first != b_first) return a_first < b_first;
    if (groups->tensors.elements[a] != groups->tensors.elements[b])
        return groups->tensors.elements[a] > groups->tensors.elements[b];
    return a < b;
}

/* Sorted by insertion: there are few groups, and equals keep their order. */
static void make_order(const hu_search_groups *groups, hu_search_order order, uint64_t seed,
                       uint32_t *sequence) {
    if (order == HU_SEARCH_RANDOM) {
        hu_random_key key = {seed, hu_stream_id("assign", ""), 0};
        hu_random_permutation(&key, groups->tensors.count, sequence);
        return;
    }
    for (uint32_t g = 0; g < groups->tensors.count; g++) {
        uint32_t at = g;
        for (; at > 0 && comes_before(groups, order, g, sequence[at - 1]); at--)
            sequence[at] = sequence[at - 1];
        sequence[at] = g;
    }
}

/* The low group with the most loss (of equals the largest) that the budget does not need. */
static uint32_t find_needless(const hu_search_groups *groups, int64_t spare, const bool *low) {
    uint32_t best = HU_NONE;
    for (uint32_t g = 0; g < groups->tensors.count; g++) {
        if (!low[g] || groups->saved[g] > spare) continue;
        bool is_worse = best == HU_NONE || groups->loss[g] > groups->loss[best] ||
                        (groups->loss[g] == groups->loss[best] &&
                         groups->tensors.elements[g] > groups->tensors.elements[best]);
        if (is_worse) best = g;
    }
    return best;
}

hu_status hu_search_fill(const hu_search_groups *groups, hu_search_order order, uint64_t seed,
                         int64_t most, bool trims, bool *low, int64_t *bits) {
    void *block;
    hu_status st = hu_alloc_array(groups->tensors.count, sizeof(uint32_t), &block);
    if (st != HU_OK) return st;
    uint32_t *sequence = block, needless;
    int64_t left = groups->all_high;
    make_order(groups, order, seed, sequence);
    memset(low, 0, groups->tensors.count * sizeof *low);
    for (uint32_t i = 0; i < groups->tensors.count && left > most; i++) {
        low[sequence[i]] = true;
        left -= groups->saved[sequence[i]];
    }
    /* The last group usually saves more than was needed: what is left over brings others back up.
     */
    while (trims && (needless = find_needless(groups, most - left, low)) != HU_NONE) {
        low[needless] = false;
        left += groups->saved[needless];
    }
    *bits = left;
    hu_free(sequence);
    return HU_OK;
}
