#include "precision/search.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/statistics.h"
#include "precision/internal.h"

const char *hu_search_order_name(hu_search_order order) {
    static const char *const names[HU_SEARCH_ORDERS] = {"size",    "loss",  "direction", "rounding",
                                                        "trained", "trade", "ends",      "random"};
    return names[order];
}

/* What every group saves if it goes low, gradients included. */
static void add_bits(const hu_assignment_task *task, hu_search_groups *groups) {
    for (hu_value_id v = 0; v < task->graph->value_count; v++) {
        uint32_t g = task->groups->of_value[v];
        if (g == HU_NONE) continue;
        int64_t high = hu_candidate_bits(task, v, false, false);
        groups->all_high += high;
        int64_t low = hu_candidate_bits(task, v, true, true);
        groups->saved[g] += high - low;
        groups->raised[v] = hu_candidate_bits(task, v, false, true) - low;
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
    HU_TRY(HU_NEW_ARRAY(&groups->promoted, groups->tensors.count));
    HU_TRY(HU_NEW_ARRAY(&groups->is_promoted, graph->value_count));
    HU_TRY(HU_NEW_ARRAY(&groups->raised, graph->value_count));
    HU_TRY(HU_NEW_ARRAY(&groups->loss, groups->tensors.count));
    HU_TRY(HU_NEW_ARRAY(&groups->direction, groups->tensors.count));
    HU_TRY(HU_NEW_ARRAY(&groups->rounding, groups->tensors.count));
    HU_TRY(HU_NEW_ARRAY(&groups->trained, groups->tensors.count));
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
    hu_free(groups->promoted);
    hu_free(groups->is_promoted);
    hu_free(groups->raised);
    hu_free(groups->loss);
    hu_free(groups->direction);
    hu_free(groups->rounding);
    hu_free(groups->trained);
    *groups = (hu_search_groups){0};
}

void hu_search_promote(hu_search_groups *groups, hu_value_id value) {
    uint32_t g = groups->tensors.of_value[value];
    if (g == HU_NONE || groups->is_promoted[value] || groups->raised[value] <= 0) return;
    groups->is_promoted[value] = true;
    groups->promoted[g] += groups->raised[value];
}

/* What a low group leaves free once its tensors that overflow are high again. */
static int64_t saved_in_the_end(const hu_search_groups *groups, uint32_t g) {
    return groups->saved[g] - groups->promoted[g];
}

int64_t hu_search_bits(const hu_search_groups *groups, const bool *low, bool promotes) {
    int64_t bits = groups->all_high;
    for (uint32_t g = 0; g < groups->tensors.count; g++)
        if (low[g]) bits -= promotes ? saved_in_the_end(groups, g) : groups->saved[g];
    return bits;
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

/* What an order goes by; NULL: by size alone. */
static const double *loss_of(const hu_search_groups *groups, hu_search_order order) {
    if (order == HU_SEARCH_LOSS) return groups->loss;
    if (order == HU_SEARCH_DIRECTION) return groups->direction;
    if (order == HU_SEARCH_TRAINED) return groups->trained;
    return order == HU_SEARCH_ROUNDING ? groups->rounding : NULL;
}

static double saved_or_none(const hu_search_groups *groups, uint32_t g) {
    int64_t saved = saved_in_the_end(groups, g);
    return saved > 0 ? (double)saved : 0.0;
}

/* Of equals the larger group first, then the earlier one: no order is left to chance. */
static bool comes_before(const hu_search_groups *groups, hu_search_order order, uint32_t a,
                         uint32_t b) {
    bool a_late = is_late(groups, order, a), b_late = is_late(groups, order, b);
    if (a_late != b_late) return b_late;
    const double *loss = loss_of(groups, order);
    /* Loss for a saved bit, without a division: a group may save nothing. */
    double a_first = loss ? loss[a] * saved_or_none(groups, b) : 0.0;
    double b_first = loss ? loss[b] * saved_or_none(groups, a) : 0.0;
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
static uint32_t find_needless(const hu_search_groups *groups, const double *loss, int64_t spare,
                              const bool *low) {
    uint32_t best = HU_NONE;
    for (uint32_t g = 0; g < groups->tensors.count; g++) {
        if (!low[g] || saved_in_the_end(groups, g) > spare) continue;
        bool is_worse =
            best == HU_NONE || loss[g] > loss[best] ||
            (loss[g] == loss[best] && groups->tensors.elements[g] > groups->tensors.elements[best]);
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
    bool is_plain = order == HU_SEARCH_SIZE && !trims;
    make_order(groups, order, seed, sequence);
    memset(low, 0, groups->tensors.count * sizeof *low);
    for (uint32_t i = 0; i < groups->tensors.count && left > most; i++) {
        int64_t saved = saved_in_the_end(groups, sequence[i]);
        if (saved <= 0 && !is_plain) continue;
        low[sequence[i]] = true;
        left -= saved;
    }
    /* The last group usually saves more than was needed: what is left over brings others back up.
     */
    const double *loss = loss_of(groups, order) ? loss_of(groups, order) : groups->loss;
    while (trims && (needless = find_needless(groups, loss, most - left, low)) != HU_NONE) {
        low[needless] = false;
        left += saved_in_the_end(groups, needless);
    }
    *bits = left;
    hu_free(sequence);
    return HU_OK;
}

/* ---- What short trainings say of groups ---- */

/* A training that diverged loses more than any other. */
static const double DIVERGED = 1e9;

/* By how much a group is worse than everything high, over the seeds. Where everything high diverged
 * with a seed, it tells nothing of groups. */
static hu_sample_stats cost_of(const double *loss, size_t seeds, size_t rows, size_t row) {
    hu_sample_stats spread = {0};
    for (size_t s = 0; s < seeds; s++)
        if (!isnan(loss[s * rows]))
            hu_sample_stats_add(&spread, loss[s * rows + row] - loss[s * rows]);
    return spread;
}

/* Seeds scatter alike in all groups. Of one seed, what is known is that no group trains better low
 * than high but by chance: gains are noise, and losses by chance are as large. NaN: not known. */
static double noise_of(const double *loss, size_t seeds, size_t rows) {
    hu_noise noise = {0};
    double squares = 0.0;
    int64_t gains = 0, counted = 0;
    for (size_t row = 1; row < rows; row++) {
        hu_sample_stats spread = cost_of(loss, seeds, rows, row);
        double cost = hu_sample_stats_mean(&spread);
        if (isnan(cost)) continue;
        hu_noise_pool(&noise, &spread);
        if (spread.count > counted) counted = spread.count;
        if (cost < 0.0) {
            squares += cost * cost;
            gains++;
        }
    }
    if (noise.freedom > 0.0) return sqrt(noise.variance / (double)counted);
    return gains > 0 ? sqrt(squares / (double)gains) : (double)NAN;
}

double hu_search_judge_short(const double *loss, size_t seeds, hu_search_groups *groups,
                             double *cost) {
    const double clearly = 2.0;
    size_t rows = (size_t)groups->tensors.count + 1;
    double noise = noise_of(loss, seeds, rows), least = isnan(noise) ? 0.0 : clearly * noise;
    for (size_t row = 1; row < rows; row++) {
        hu_sample_stats spread = cost_of(loss, seeds, rows, row);
        double lost = hu_sample_stats_mean(&spread);
        cost[row - 1] = lost;
        groups->trained[row - 1] = isnan(lost) ? DIVERGED : lost > least ? lost : 0.0;
        if (spread.count == 0) groups->trained[row - 1] = 0.0;
    }
    return noise;
}
