/* Candidates of a search: which sets of groups fit the budget, and which ones are tried instead of
 * those that promotions take beyond it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "sweep/assign.h"

/* Most refills of one candidate: promotions of a smaller set may cost more again. */
enum { REFILLS = 4, HALVINGS = 12 };

/* Whether an earlier order found the same set. */
static hu_assign_candidate *find_known(const hu_assign *assign, const bool *low) {
    for (uint32_t i = 0; i < assign->count; i++)
        if (memcmp(assign->candidate[i].low, low, assign->groups.tensors.count * sizeof *low) == 0)
            return &assign->candidate[i];
    return NULL;
}

/* The name is a hash of the set: the same set is the same training, whatever order found it, and is
 * found again by the next command. */
static hu_status name_candidate(const hu_assign *assign, hu_assign_candidate *c) {
    enum { ITEM_BYTES = 20 };
    char *groups = NULL;
    size_t used = 0, capacity = (size_t)assign->groups.tensors.count * ITEM_BYTES + 1;
    hu_status st = HU_NEW_ARRAY(&groups, capacity);
    if (st != HU_OK) return st;
    for (uint32_t g = 0; g < assign->groups.tensors.count; g++)
        if (c->low[g])
            used +=
                (size_t)snprintf(groups + used, capacity - used, "%sgroup:%u", used ? ", " : "", g);
    snprintf(c->name, sizeof c->name, "low-%08x", (unsigned)XXH64(groups, strlen(groups), 0));
    snprintf(c->path, sizeof c->path, "%s/plans/%s.yaml", assign->directory, c->name);
    hu_free(groups);
    return hu_assign_write_plan(assign, c->low, c->path, NULL);
}

/* Bits with every group low that saves any when its tensors that overflow are high. */
static int64_t least_bits(const hu_search_groups *groups) {
    int64_t bits = groups->all_high;
    for (uint32_t g = 0; g < groups->tensors.count; g++) {
        int64_t saved = groups->saved[g] - groups->promoted[g];
        bits -= saved > 0 ? saved : 0;
    }
    return bits;
}

/* Fills to so many bits with the promotions that are expected, and measures what the budget counts
 * of them. */
static hu_status fill(const hu_assign *assign, hu_assign_candidate *c, int64_t most) {
    int64_t ignored;
    hu_status st =
        hu_search_fill(&assign->groups, c->order, c->seed, most, c->is_trimmed, c->low, &ignored);
    return st == HU_OK ? hu_assign_plan_size(assign, c->low, true, &c->expected) : st;
}

/* Fills to a share of float32's. Shares of the ledger are no sum over groups: the bits that lead to
 * them are searched for by halving. */
static hu_status fill_share(const hu_assign *assign, hu_assign_candidate *c, double share) {
    hu_status st = HU_OK;
    const double slack = 1e-9;
    int64_t least = least_bits(&assign->groups), most = assign->groups.all_high;
    if (assign->kind == HU_BUDGET_METRIC || assign->kind == HU_BUDGET_MEMORY)
        return fill(assign, c, (int64_t)(share * (double)assign->groups.all_plain));
    for (int i = 0; i < HALVINGS && least < most; i++) {
        int64_t middle = least + (most - least + 1) / 2;
        HU_TRY(fill(assign, c, middle));
        if (c->expected <= share + slack)
            least = middle;
        else
            most = middle - 1;
    }
    HU_TRY(fill(assign, c, least));
done:
    return st;
}

/* What its low groups lose and how many they are, and its size before promotions. */
static hu_status weigh(const hu_assign *assign, hu_assign_candidate *c) {
    c->groups_low = 0;
    c->bits = hu_search_bits(&assign->groups, c->low, false);
    c->loss = 0.0;
    for (uint32_t g = 0; g < assign->groups.tensors.count; g++) {
        c->groups_low += c->low[g];
        c->loss += c->low[g] ? assign->groups.loss[g] : 0.0;
    }
    return hu_assign_plan_size(assign, c->low, false, &c->planned);
}

/* Adds what an order makes of a limit, unless it is there already. like: order, seed, trimming,
 * refills. */
static hu_status add_candidate(hu_assign *assign, const hu_assign_candidate *like, double share,
                               bool *added) {
    hu_status st = HU_OK;
    const double slack = 1e-9;
    hu_assign_candidate c = {.order = like->order,
                             .seed = like->seed,
                             .is_trimmed = like->is_trimmed,
                             .is_plain = like->order == HU_SEARCH_SIZE && !like->is_trimmed,
                             .refills = like->refills};
    *added = false;
    HU_TRY(HU_NEW_ARRAY(&c.low, assign->groups.tensors.count));
    HU_TRY(fill_share(assign, &c, share));
    HU_TRY(weigh(assign, &c));
    hu_assign_candidate *known = find_known(assign, c.low);
    if (known) known->is_plain = known->is_plain || c.is_plain;
    if (known || c.expected > share + slack || c.groups_low == 0) goto done;
    void *block = assign->candidate;
    size_t capacity = assign->capacity;
    HU_TRY(hu_grow(&block, assign->count, &capacity, sizeof *assign->candidate));
    assign->candidate = block;
    assign->capacity = (uint32_t)capacity;
    HU_TRY(name_candidate(assign, &c));
    assign->candidate[assign->count++] = c;
    *added = true;
    return HU_OK;
done:
    hu_free(c.low);
    return st;
}

/* Every order under one limit. */
static hu_status add_orders(hu_assign *assign, double share) {
    hu_status st = HU_OK;
    bool added;
    for (int trims = 0; trims <= 1; trims++)
        for (int order = 0; order < HU_SEARCH_RANDOM; order++) {
            hu_assign_candidate like = {.order = (hu_search_order)order, .is_trimmed = trims};
            if (order == HU_SEARCH_TRAINED && assign->short_runs.steps == 0) continue;
            HU_TRY(add_candidate(assign, &like, share, &added));
        }
    for (int64_t i = 0; i < assign->random_orders; i++) {
        hu_assign_candidate like = {
            .order = HU_SEARCH_RANDOM, .seed = (uint64_t)i + 1, .is_trimmed = true};
        HU_TRY(add_candidate(assign, &like, share, &added));
    }
done:
    return st;
}

/* Plain demotion, and what the gradient says, to a smaller limit. */
static hu_status add_smaller(hu_assign *assign, double share) {
    hu_status st = HU_OK;
    bool added;
    hu_assign_candidate size = {.order = HU_SEARCH_SIZE};
    hu_assign_candidate loss = {.order = HU_SEARCH_LOSS, .is_trimmed = true};
    HU_TRY(add_candidate(assign, &size, share, &added));
    HU_TRY(add_candidate(assign, &loss, share, &added));
done:
    return st;
}

/* Every group low: the least that there is with the promotions that are expected. */
static hu_status least_share(const hu_assign *assign, double *share) {
    hu_assign_candidate all = {.order = HU_SEARCH_SIZE};
    hu_status st = HU_NEW_ARRAY(&all.low, assign->groups.tensors.count);
    if (st == HU_OK) st = fill(assign, &all, least_bits(&assign->groups));
    *share = all.expected;
    hu_free(all.low);
    return st;
}

hu_status hu_assign_make_candidates(hu_assign *assign) {
    /* For a metric: parts of what all groups together can save. For a size: what is left of it for
     * a set whose promotions cost the rest. */
    static const double parts[] = {1.0, 0.9, 0.75, 0.6, 0.45, 0.3}, smaller[] = {0.97, 0.94, 0.88};
    enum { PARTS = sizeof parts / sizeof *parts, SMALLER = sizeof smaller / sizeof *smaller };
    hu_status st = HU_OK;
    double least, high = hu_assign_share(assign, (double)assign->groups.all_high);
    HU_TRY(least_share(assign, &least));
    if (assign->kind == HU_BUDGET_METRIC) {
        for (int p = 0; p < PARTS; p++)
            HU_TRY(add_orders(assign, high - parts[p] * (high - least)));
        goto done;
    }
    HU_TRY(add_orders(assign, assign->budget));
    for (int p = 0; p < SMALLER; p++)
        if (smaller[p] * assign->budget > least)
            HU_TRY(add_smaller(assign, smaller[p] * assign->budget));
    HU_TRY(add_smaller(assign, least));
done:
    return st;
}

hu_status hu_assign_refill(hu_assign *assign, uint32_t i, int rung, bool *added) {
    const hu_assign_candidate *c = &assign->candidate[i];
    double limit = assign->budget - (c->rung[rung].size - c->expected), least;
    hu_assign_candidate like = *c;
    *added = false;
    if (c->refills >= REFILLS) return HU_OK;
    hu_status st = least_share(assign, &least);
    /* Promotions took as much as the budget leaves: only the least remains. */
    if (limit < least) limit = least;
    like.refills++;
    return st == HU_OK ? add_candidate(assign, &like, limit, added) : st;
}
