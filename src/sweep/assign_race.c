/* The race: candidates are trained in rungs of growing length (as in successive halving, Jamieson
 * and Talwalkar, 2016), but who leaves is who is worse beyond the noise, not a fixed share. */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "sweep/assign.h"

/* Indices of the candidates that are left. */
typedef struct field {
    uint32_t *index;
    uint32_t count;
    size_t capacity;
} field;

static hu_status push(field *f, uint32_t i) {
    void *block = f->index;
    hu_status st = hu_grow(&block, f->count, &f->capacity, sizeof *f->index);
    f->index = block;
    if (st == HU_OK) f->index[f->count++] = i;
    return st;
}

static const hu_assign_outcome *outcome(const hu_assign *assign, uint32_t i, int rung) {
    return &assign->candidate[i].rung[rung];
}

bool hu_assign_high_fits(const hu_assign *assign) {
    return hu_assign_fits(assign, assign->rungs - 1, &assign->high);
}

/* Is a beyond the size because of its promotions? It diverged or not: bits are known. */
static bool is_too_large(const hu_assign *assign, const hu_assign_outcome *made) {
    const double slack = 1e-9;
    return assign->kind != HU_BUDGET_METRIC && made->is_known &&
           made->size > assign->budget + slack;
}

/* Have promotions left room that the search had kept for them? */
static bool has_room(const hu_assign *assign, const hu_assign_candidate *c, int rung) {
    const double slack = 1e-9;
    const hu_assign_outcome *made = &c->rung[rung];
    return assign->kind != HU_BUDGET_METRIC && !isnan(made->value) &&
           made->size < c->expected - slack;
}

/* Trains what is left for one length. A set of which promotions took more than was expected, and
 * too much, or less, is joined by another one of its order. */
static hu_status run_rung(hu_assign *assign, int rung, field *f) {
    hu_status st = HU_OK;
    bool added;
    if (!assign->jobs.is_quiet)
        fprintf(stderr, "rung %d of %d: %u candidates, %lld steps, %zu seeds\n", rung + 1,
                assign->rungs, f->count, (long long)hu_assign_steps(assign, rung),
                hu_keys_count(assign->seeds));
    /* Trainings of other lengths say nothing of how long these take. */
    assign->pace.ended = 0;
    assign->pace.seconds = 0.0;
    for (uint32_t k = 0; k < f->count; k++) {
        uint32_t i = f->index[k];
        hu_assign_outcome made;
        assign->pace.first = (int)(k * hu_keys_count(assign->seeds));
        assign->pace.rows = (int)(f->count * hu_keys_count(assign->seeds));
        HU_TRY(hu_assign_train(assign, assign->candidate[i].name, assign->candidate[i].path, rung,
                               &made));
        assign->candidate[i].rung[rung] = made;
        bool is_wrong =
            is_too_large(assign, &made) || has_room(assign, &assign->candidate[i], rung);
        if (!is_wrong) continue;
        HU_TRY(hu_assign_refill(assign, i, rung, &added));
        if (added) HU_TRY(push(f, assign->count - 1));
    }
    hu_assign_pool(assign, rung);
done:
    assign->pace.rows = 0;
    return st;
}

/* Whether a is better than b by more than the noise of both. NaN is worse than all. */
static bool is_clearly_better(const hu_assign *assign, int rung, const hu_assign_outcome *a,
                              const hu_assign_outcome *b) {
    if (isnan(a->value)) return false;
    if (isnan(b->value)) return true;
    return hu_assign_gain(assign, a->value, b->value) > hu_assign_noise_of_two(assign, rung, a, b);
}

/* Whether the metric is kept, or lost, by more than the noise. */
static bool keeps_clearly(const hu_assign *assign, int rung, const hu_assign_outcome *made) {
    const hu_assign_outcome *plain = &assign->reference[rung];
    if (isnan(made->value)) return false;
    return hu_assign_gain(assign, made->value, plain->value) >
           assign->budget + hu_assign_noise_of_two(assign, rung, made, plain);
}

static bool misses_clearly(const hu_assign *assign, int rung, const hu_assign_outcome *made) {
    const hu_assign_outcome *plain = &assign->reference[rung];
    if (isnan(made->value)) return true;
    return hu_assign_gain(assign, made->value, plain->value) <
           assign->budget - hu_assign_noise_of_two(assign, rung, made, plain);
}

/* Does another candidate of the field make this one needless? Of a size: one that is better beyond
 * the noise. Of a metric: one that is smaller and keeps it beyond the noise. */
static bool is_beaten(const hu_assign *assign, int rung, const field *f, uint32_t i) {
    const hu_assign_outcome *here = outcome(assign, i, rung);
    bool is_metric = assign->kind == HU_BUDGET_METRIC;
    if (is_metric && misses_clearly(assign, rung, here)) return true;
    for (uint32_t k = 0; k < f->count; k++) {
        const hu_assign_outcome *other = outcome(assign, f->index[k], rung);
        if (f->index[k] == i || is_too_large(assign, other)) continue;
        if (is_metric ? other->bits < here->bits && keeps_clearly(assign, rung, other)
                      : is_clearly_better(assign, rung, other, here))
            return true;
    }
    return false;
}

/* The smallest of the field, by what the budget counts; plain: of plain demotions only. */
static uint32_t smallest(const hu_assign *assign, int rung, const field *f, bool plain) {
    uint32_t best = UINT32_MAX;
    for (uint32_t k = 0; k < f->count; k++) {
        uint32_t i = f->index[k];
        if (plain && !assign->candidate[i].is_plain) continue;
        if (best == UINT32_MAX ||
            outcome(assign, i, rung)->size < outcome(assign, best, rung)->size)
            best = i;
    }
    return best;
}

/* Which plain demotion stays whatever it reached: of a size the largest that fits (it has demoted
 * least), of a metric the mildest. */
static uint32_t plain_that_stays(const hu_assign *assign, int rung, const field *f) {
    uint32_t best = UINT32_MAX;
    for (uint32_t k = 0; k < f->count; k++) {
        uint32_t i = f->index[k];
        if (!assign->candidate[i].is_plain || is_too_large(assign, outcome(assign, i, rung)))
            continue;
        if (best == UINT32_MAX ||
            outcome(assign, i, rung)->size > outcome(assign, best, rung)->size)
            best = i;
    }
    return best == UINT32_MAX ? smallest(assign, rung, f, true) : best;
}

/* Leaves those that are too large or beaten out; plain demotion and the smallest stay. */
static hu_status thin(const hu_assign *assign, int rung, field *f) {
    hu_status st = HU_OK;
    field kept = {0};
    uint32_t plain = plain_that_stays(assign, rung, f), least = smallest(assign, rung, f, false);
    bool has_fitting = false;
    for (uint32_t k = 0; k < f->count; k++)
        has_fitting = has_fitting || !is_too_large(assign, outcome(assign, f->index[k], rung));
    for (uint32_t k = 0; k < f->count; k++) {
        uint32_t i = f->index[k];
        bool is_good =
            !is_too_large(assign, outcome(assign, i, rung)) && !is_beaten(assign, rung, f, i);
        if (is_good || i == plain || (i == least && !has_fitting)) HU_TRY(push(&kept, i));
    }
    hu_free(f->index);
    *f = kept;
    return HU_OK;
done:
    hu_free(kept.index);
    return st;
}

/* ---- the choice ---- */

/* Is a the better of two finalists that keep the budget? Of a size by the metric, of a metric by
 * bits; of equals the other. */
static bool is_better(const hu_assign *assign, const hu_assign_outcome *a,
                      const hu_assign_outcome *b) {
    double gain = hu_assign_gain(assign, a->value, b->value);
    if (assign->kind == HU_BUDGET_METRIC && a->bits != b->bits) return a->bits < b->bits;
    return gain != 0.0 ? gain > 0.0 : a->bits < b->bits;
}

/* The best finalist that keeps the budget; HU_ASSIGN_NONE: none does. */
static int best_of(const hu_assign *assign, const field *f, bool plain) {
    int best = HU_ASSIGN_NONE, last = assign->rungs - 1;
    for (uint32_t k = 0; k < f->count; k++) {
        int i = (int)f->index[k];
        const hu_assign_outcome *here = outcome(assign, f->index[k], last);
        if ((plain && !assign->candidate[i].is_plain) || !hu_assign_fits(assign, last, here))
            continue;
        if (best < 0 || is_better(assign, here, outcome(assign, (uint32_t)best, last))) best = i;
    }
    return best;
}

/* Is a, as good as b for all that the noise lets one see, to be preferred? Its groups lose less in
 * the measure that has no noise; of equals the better one. */
static bool is_preferred(const hu_assign *assign, const hu_assign_candidate *a,
                         const hu_assign_candidate *b) {
    int last = assign->rungs - 1;
    if (assign->kind == HU_BUDGET_METRIC || a->loss == b->loss)
        return is_better(assign, &a->rung[last], &b->rung[last]);
    return a->loss < b->loss;
}

/* Of the finalists that keep the budget, and that the best is not clearly better than, the
 * preferred one. HU_ASSIGN_NONE: none keeps it. plain: of plain demotions only, by the same rule as
 * of all, so that what is written is held against what one would have taken without the search. */
static int choose_one(const hu_assign *assign, const field *f, bool plain) {
    int best = best_of(assign, f, plain), chosen = best, last = assign->rungs - 1;
    for (uint32_t k = 0; k < f->count; k++) {
        const hu_assign_candidate *c = &assign->candidate[f->index[k]];
        if ((plain && !c->is_plain) || !hu_assign_fits(assign, last, &c->rung[last])) continue;
        if (is_clearly_better(assign, last, outcome(assign, (uint32_t)best, last), &c->rung[last]))
            continue;
        if (is_preferred(assign, c, &assign->candidate[chosen])) chosen = (int)f->index[k];
    }
    return chosen;
}

/* Nothing keeps the budget: of a size the smallest, of a metric the best. */
static int nearest(const hu_assign *assign, const field *f) {
    int last = assign->rungs - 1, best = HU_ASSIGN_HIGH;
    if (assign->kind != HU_BUDGET_METRIC) {
        uint32_t least = smallest(assign, last, f, false);
        bool is_less =
            least != UINT32_MAX && outcome(assign, least, last)->size < assign->high.size;
        return is_less ? (int)least : HU_ASSIGN_HIGH;
    }
    for (uint32_t k = 0; k < f->count; k++) {
        const hu_assign_outcome *held =
            best < 0 ? &assign->high : outcome(assign, (uint32_t)best, last);
        const hu_assign_outcome *here = outcome(assign, f->index[k], last);
        bool is_worse =
            isnan(here->value) || hu_assign_gain(assign, here->value, held->value) <= 0.0;
        if (!is_worse || isnan(held->value)) best = (int)f->index[k];
    }
    return best;
}

/* How much better the choice is than plain demotion, and whether that is more than chance. */
static void compare_with_plain(const hu_assign *assign, hu_assign_choice *choice) {
    const double clearly = 2.0;
    int last = assign->rungs - 1;
    if (choice->plain < 0) return;
    const hu_assign_outcome *plain = outcome(assign, (uint32_t)choice->plain, last);
    const hu_assign_outcome *best =
        choice->best < 0 ? &assign->high : outcome(assign, (uint32_t)choice->best, last);
    choice->gain = hu_assign_gain(assign, best->value, plain->value);
    choice->noise = hu_assign_noise_of_two(assign, last, best, plain);
    choice->is_separated = assign->kind == HU_BUDGET_METRIC
                               ? best->bits < plain->bits
                               : choice->gain > clearly * choice->noise;
}

static void choose(const hu_assign *assign, const field *f, hu_assign_choice *choice) {
    int last = assign->rungs - 1;
    *choice = (hu_assign_choice){.best = HU_ASSIGN_HIGH, .plain = choose_one(assign, f, true)};
    int best = choose_one(assign, f, false);
    bool is_size = assign->kind != HU_BUDGET_METRIC;
    choice->meets = best >= 0 || hu_assign_high_fits(assign);
    if (best >= 0) choice->best = best;
    if (!choice->meets) choice->best = nearest(assign, f);
    if (choice->plain < 0 && f->count > 0 && !hu_assign_high_fits(assign)) {
        uint32_t plain =
            is_size ? smallest(assign, last, f, true) : plain_that_stays(assign, last, f);
        choice->plain = plain == UINT32_MAX ? HU_ASSIGN_NONE : (int)plain;
    }
    compare_with_plain(assign, choice);
}

hu_status hu_assign_race(hu_assign *assign, hu_assign_choice *choice) {
    hu_status st = HU_OK;
    field f = {0};
    for (uint32_t i = 0; i < assign->count; i++) HU_TRY(push(&f, i));
    for (int r = assign->first_rung; r < assign->rungs && f.count > 0; r++) {
        HU_TRY(run_rung(assign, r, &f));
        if (r < assign->rungs - 1) HU_TRY(thin(assign, r, &f));
    }
    choose(assign, &f, choice);
done:
    hu_free(f.index);
    return st;
}
