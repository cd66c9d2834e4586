/* explain/repair.c - the search for what would repair a run. Forward and backward tensors are
 * judged apart, so each side is searched alone; the best of both are put together. */
#include "explain/repair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

enum {
    CHOICES_MOST = 2 * HU_CANDIDATES_MOST,
    CHANGES_MOST = 3 * (CHOICES_MOST + 2), /* of one side: each choice with each kind of scaling */
    CHEAP_MOST = 3,
    MENDING_MOST = HU_REPAIR_MOST - CHEAP_MOST,
    JOINED_MOST = 8,  /* the best of one side, which are put together with those of the other */
    USUAL_SCALE = 16, /* log2 of scaler.init's default */
    LEAST_SCALE = -60 /* below it gradients are no longer numbers worth scaling */
};

/* A format to give to a role. */
typedef struct choice {
    char words[HU_QUANTIZER_BYTES];
    hu_quantizer quantizer;
} choice;

/* The changes of one side, the best first. */
typedef struct half {
    bool is_backward;
    bool changes[HU_ROLE_COUNT]; /* roles whose formats are in question */
    hu_change *change;           /* [count] */
    int count;
} half;

typedef struct search {
    hu_repair *advice;
    choice choice[CHOICES_MOST];
    int choices;
    double *score; /* [recorded.count] as the run rounds */
    hu_way now;
    half forward, backward;
    const char *scale; /* what the run's own formats get where they are scaled */
} search;

static const char current_scale[] = ":scale=current", delayed_scale[] = ":scale=delayed";

/* ---- choices ---- */

static void add_choice(search *s, const char *name, const char *scale) {
    enum { SCALED_BITS = 8 };
    choice *c = &s->choice[s->choices];
    int used = snprintf(c->words, sizeof c->words, "%s%s", name, scale);
    if (used < 0 || (size_t)used >= sizeof c->words) return;
    if (hu_quantizer_parse(c->words, HU_ROUND_NEAREST_EVEN, &c->quantizer) != HU_OK) return;
    if (scale[0] && hu_quantizer_bits(&c->quantizer) > SCALED_BITS) return;
    s->choices++;
}

/* Candidates, narrow ones with a scale too. */
static void make_choices(search *s, const hu_candidates *candidates) {
    for (int f = 0; f < candidates->count; f++) {
        add_choice(s, candidates->name[f], "");
        add_choice(s, candidates->name[f], current_scale);
    }
}

/* ---- what is wrong ---- */

static bool is_bad(const search *s, uint32_t t) {
    return s->score[t] > 1.0;
}

/* Tensors that are rounded unlike the rest of their role, and badly. */
static bool find_freed(search *s) {
    hu_repair *a = s->advice;
    bool any = false;
    for (uint32_t t = 0; t < a->recorded.count; t++) {
        const hu_recorded_tensor *tensor = &a->recorded.tensor[t];
        a->is_freed[t] = a->setup.is_by_role && is_bad(s, t) &&
                         !hu_same_range(&tensor->now, &a->setup.usual[tensor->role]);
        any |= a->is_freed[t];
    }
    return any;
}

/* Roles with a bad tensor; where one is bad, those too of which nothing is told in some tensor. */
static void find_roles(search *s, half *side) {
    const hu_recorded *recorded = &s->advice->recorded;
    bool untold[HU_ROLE_COUNT] = {false}, any = false;
    for (uint32_t t = 0; t < recorded->count; t++) {
        hu_role role = recorded->tensor[t].role;
        if (hu_is_backward(role) != side->is_backward) continue;
        untold[role] |= recorded->tensor[t].source != t;
        side->changes[role] |= is_bad(s, t) && !s->advice->is_freed[t];
        any |= side->changes[role];
    }
    for (int r = 0; r < HU_ROLE_COUNT; r++) side->changes[r] |= any && untold[r];
}

/* ---- changes ---- */

/* The format that a role has now with a scale of each tensor; false: it has no use for one. */
static bool scale_now(const hu_quantizer *now, const char *scale, hu_quantizer *scaled,
                      char words[HU_QUANTIZER_BYTES]) {
    if (now->kind != HU_QUANTIZER_FLOAT || now->scale != HU_SCALE_NONE) return false;
    hu_quantizer_print(now, words, HU_QUANTIZER_BYTES - (uint32_t)sizeof current_scale);
    strcat(words, scale);
    return hu_quantizer_parse(words, HU_ROUND_NEAREST_EVEN, scaled) == HU_OK;
}

/* At least as wide, and another one; with a scale the format of now needs no other one beside it.
 */
static bool is_worth_trying(const hu_quantizer *to, const hu_quantizer *now) {
    bool is_wider = hu_quantizer_bits(to) > hu_quantizer_bits(now);
    bool is_scaled = to->kind == HU_QUANTIZER_FLOAT && to->scale != HU_SCALE_NONE;
    bool may_scale = now->kind == HU_QUANTIZER_FLOAT && now->scale == HU_SCALE_NONE;
    if (hu_quantizer_bits(to) < hu_quantizer_bits(now) || hu_same_range(to, now)) return false;
    return is_wider || !(is_scaled && may_scale);
}

/* Gives a role another format, at least as wide; false: it is no other one. */
static bool change_role(const search *s, const choice *c, hu_role role, hu_change *change) {
    const hu_quantizer *now = &s->advice->setup.usual[role];
    hu_quantizer *to = &change->way.role[role];
    if (!c && !scale_now(now, s->scale, to, change->format[role])) return false;
    if (c && !is_worth_trying(&c->quantizer, now)) return false;
    if (c) *to = c->quantizer;
    if (c) snprintf(change->format[role], sizeof change->format[role], "%s", c->words);
    change->way.changes[role] = true;
    change->bits += (int32_t)(hu_quantizer_bits(to) - hu_quantizer_bits(now));
    return true;
}

/* A loss scale that leaves all gradients room to grow; false: none is needed, or it is the run's.
 */
static bool change_scaler(const search *s, hu_loss_scale_kind kind, hu_change *change) {
    const hu_setup *setup = &s->advice->setup;
    change->way.scaler = kind;
    int32_t limit = hu_trial_limit(&s->advice->recorded, &change->way);
    if (limit == HU_NO_EXPONENT || limit < LEAST_SCALE) return false;
    bool is_dynamic = kind == HU_LOSS_SCALE_DYNAMIC;
    change->way.scale = is_dynamic && limit > USUAL_SCALE ? USUAL_SCALE : limit;
    change->is_scaled = true;
    return kind != setup->scaler || change->way.scale < setup->scale ||
           (!is_dynamic && change->way.scale != setup->scale);
}

/* What is told of gradients in part only does not say how large they become. */
static bool all_told(const hu_recorded *recorded) {
    for (uint32_t t = 0; t < recorded->count; t++)
        if (hu_is_backward(recorded->tensor[t].role) && recorded->tensor[t].source != t)
            return false;
    return true;
}

/* Formats that are new, and a loss scale. */
static int32_t count_changes(const hu_change *change) {
    int32_t count = change->is_scaled;
    for (int r = 0; r < HU_ROLE_COUNT; r++) {
        bool is_new = change->way.changes[r];
        for (int o = 0; o < r; o++)
            is_new &= !change->way.changes[o] || strcmp(change->format[o], change->format[r]) != 0;
        count += is_new;
    }
    return count;
}

/* c: NULL: the format of now with a scale; keeps: no other format. */
static void try_change(search *s, half *side, const choice *c, bool keeps, int scaler) {
    hu_change change = {.way = s->now};
    bool is_other = keeps;
    for (int r = 0; r < HU_ROLE_COUNT && !keeps; r++)
        if (side->changes[r]) is_other |= change_role(s, c, (hu_role)r, &change);
    if (!is_other || side->count == CHANGES_MOST) return;
    if (scaler == HU_LOSS_SCALE_CONSTANT && !all_told(&s->advice->recorded)) return;
    if (scaler >= 0 && !change_scaler(s, (hu_loss_scale_kind)scaler, &change)) return;
    change.changes = count_changes(&change);
    change.outcome = hu_trial_judge(&s->advice->recorded, &change.way, side->is_backward, NULL);
    side->change[side->count++] = change;
}

static bool repairs(const hu_outcome *outcome) {
    return outcome->score <= 1.0;
}

static int roles_of(const hu_change *change) {
    int count = 0;
    for (int r = 0; r < HU_ROLE_COUNT; r++) count += change->way.changes[r];
    return count;
}

/* What repairs all, changes least, takes the fewest bits, touches the fewest roles, and leaves the
 * least error. */
static int compare(const void *left, const void *right) {
    const hu_change *a = left, *b = right;
    bool repairs_a = repairs(&a->outcome), repairs_b = repairs(&b->outcome);
    if (repairs_a != repairs_b) return repairs_a ? -1 : 1;
    if (!repairs_a && a->outcome.score != b->outcome.score)
        return a->outcome.score < b->outcome.score ? -1 : 1;
    if (a->changes != b->changes) return a->changes - b->changes;
    if (a->bits != b->bits) return a->bits - b->bits;
    if (roles_of(a) != roles_of(b)) return roles_of(a) - roles_of(b);
    return (a->outcome.score > b->outcome.score) - (a->outcome.score < b->outcome.score);
}

static hu_status search_side(search *s, half *side) {
    hu_status st = HU_NEW_ARRAY(&side->change, CHANGES_MOST);
    if (st != HU_OK) return st;
    int last = side->is_backward ? HU_LOSS_SCALE_DYNAMIC : -1;
    find_roles(s, side);
    for (int scaler = -1; scaler <= last; scaler++) {
        if (scaler == HU_LOSS_SCALE_NONE) continue;
        try_change(s, side, NULL, true, scaler);
        try_change(s, side, NULL, false, scaler);
        for (int c = 0; c < s->choices; c++) try_change(s, side, &s->choice[c], false, scaler);
    }
    qsort(side->change, (size_t)side->count, sizeof *side->change, compare);
    return HU_OK;
}

/* ---- both sides ---- */

static hu_change join(const hu_change *forward, const hu_change *backward) {
    hu_change both = *backward;
    for (int r = 0; r < HU_ROLE_COUNT; r++) {
        if (!forward->way.changes[r]) continue;
        both.way.changes[r] = true;
        both.way.role[r] = forward->way.role[r];
        memcpy(both.format[r], forward->format[r], sizeof both.format[r]);
    }
    both.changes = count_changes(&both);
    both.bits += forward->bits;
    both.outcome = hu_outcome_worse(&forward->outcome, &backward->outcome);
    return both;
}

/* Whether a change does what another one does already, in all or with more beside it: the same
 * roles get formats of the same kind. */
static bool says_no_more(const hu_change *a, const hu_change *than) {
    if (than->is_scaled && (!a->is_scaled || a->way.scaler != than->way.scaler)) return false;
    for (int r = 0; r < HU_ROLE_COUNT; r++) {
        if (!than->way.changes[r]) continue;
        bool is_scaled = a->way.role[r].scale != HU_SCALE_NONE;
        if (!a->way.changes[r] || is_scaled != (than->way.role[r].scale != HU_SCALE_NONE))
            return false;
    }
    return true;
}

static void take(search *s, const hu_opened_run *run, const hu_change *change) {
    hu_repair *a = s->advice;
    for (int o = 0; o < a->count; o++)
        if (says_no_more(change, &a->option[o].change)) return;
    if (a->count == MENDING_MOST) return;
    hu_repair_option *option = &a->option[a->count++];
    *option = (hu_repair_option){.change = *change};
    hu_repair_words(run, a, change, option);
}

static int least(int a, int b) {
    return a < b ? a : b;
}

/* Masters and accumulators are no question of formats: every option has them where they are
 * needed. */
static bool needs_other(const hu_setup *setup) {
    return setup->needs_masters || setup->needs_accumulator;
}

/* Nothing changed is no advice. */
static bool is_change(const search *s, const hu_change *change) {
    return change->changes > 0 || s->now.is_freed || needs_other(&s->advice->setup);
}

/* Whether an option gives the same roles the same formats. */
static bool is_told(const hu_repair *a, const hu_change *change) {
    bool is_any = false;
    for (int o = 0; o < a->count; o++) {
        const hu_change *other = &a->option[o].change;
        bool is_same = true;
        for (int r = 0; r < HU_ROLE_COUNT; r++)
            is_same &= other->way.changes[r] == change->way.changes[r] &&
                       strcmp(other->format[r], change->format[r]) == 0;
        is_any |= is_same;
    }
    return is_any;
}

static hu_outcome judge_both(const hu_recorded *recorded, const hu_way *way) {
    hu_outcome forward = hu_trial_judge(recorded, way, false, NULL);
    hu_outcome backward = hu_trial_judge(recorded, way, true, NULL);
    return hu_outcome_worse(&forward, &backward);
}

/* A change that keeps the formats' bits, told though it may not mend all. */
static void take_cheap(search *s, const hu_opened_run *run, hu_change *change) {
    hu_repair *a = s->advice;
    change->changes = count_changes(change);
    if (a->count == HU_REPAIR_MOST) return;
    hu_repair_option *option = &a->option[a->count++];
    *option = (hu_repair_option){.change = *change};
    hu_repair_words(run, a, change, option);
}

/* The formats of now with a scale of each tensor, where roles are in trouble. */
static void take_own(search *s, const hu_opened_run *run, const char *scale) {
    hu_repair *a = s->advice;
    hu_change change = {.way = s->now};
    bool is_other = false;
    s->scale = scale;
    for (int r = 0; r < HU_ROLE_COUNT; r++)
        if (s->forward.changes[r] || s->backward.changes[r])
            is_other |= change_role(s, NULL, (hu_role)r, &change);
    s->scale = current_scale;
    if (!is_other || a->count == 0 || a->is_partial || is_told(a, &change)) return;
    change.outcome = judge_both(&a->recorded, &change.way);
    if (change.outcome.error < a->before.error) take_cheap(s, run, &change);
}

/* Gradients that a way leaves with an error that does not train well. */
static uint32_t count_bad(search *s, const hu_way *way) {
    const hu_recorded *recorded = &s->advice->recorded;
    uint32_t bad = 0;
    (void)hu_trial_judge(recorded, way, true, s->score);
    for (uint32_t t = 0; t < recorded->count; t++)
        bad += hu_is_backward(recorded->tensor[t].role) && is_bad(s, t);
    return bad;
}

/* A dynamic loss scale alone, where it leaves half as many gradients in trouble: it costs nothing,
 * so that it is told though it may not mend all. */
static void take_dynamic(search *s, const hu_opened_run *run) {
    hu_repair *a = s->advice;
    hu_change change = {.way = s->now};
    bool is_backward = false, is_known = false;
    for (int r = 0; r < HU_ROLE_COUNT; r++) is_backward |= s->backward.changes[r];
    for (int o = 0; o < a->count; o++)
        is_known |= a->option[o].change.is_scaled && count_changes(&a->option[o].change) == 1;
    if (!is_backward || is_known || a->setup.scaler == HU_LOSS_SCALE_DYNAMIC) return;
    if (!change_scaler(s, HU_LOSS_SCALE_DYNAMIC, &change)) return;
    change.bad_before = count_bad(s, &s->now);
    change.bad = count_bad(s, &change.way);
    if (2 * change.bad > change.bad_before) return;
    change.outcome = judge_both(&a->recorded, &change.way);
    take_cheap(s, run, &change);
}

static hu_status join_sides(search *s, const hu_opened_run *run) {
    hu_change *all = NULL;
    int forward = least(s->forward.count, JOINED_MOST), count = 0;
    int backward = least(s->backward.count, JOINED_MOST);
    hu_repair *a = s->advice;
    hu_status st = HU_NEW_ARRAY(&all, JOINED_MOST * JOINED_MOST);
    if (st != HU_OK) return st;
    for (int f = 0; f < forward; f++)
        for (int b = 0; b < backward; b++)
            all[count++] = join(&s->forward.change[f], &s->backward.change[b]);
    qsort(all, (size_t)count, sizeof *all, compare);
    for (int i = 0; i < count; i++)
        if (is_change(s, &all[i]) && repairs(&all[i].outcome)) take(s, run, &all[i]);
    a->is_partial = a->count == 0;
    /* What halves the worst error is told where nothing mends it all. */
    for (int i = 0; i < count && a->count == 0; i++)
        if (is_change(s, &all[i]) && all[i].outcome.error < 0.5 * a->before.error)
            take(s, run, &all[i]);
    take_own(s, run, current_scale);
    take_own(s, run, delayed_scale);
    take_dynamic(s, run);
    hu_free(all);
    return HU_OK;
}

static void judge_now(search *s) {
    hu_repair *a = s->advice;
    s->now = (hu_way){.scaler = a->setup.scaler,
                      .scale = a->setup.scale,
                      .usual = a->setup.usual,
                      .is_recorded = true};
    hu_outcome forward = hu_trial_judge(&a->recorded, &s->now, false, s->score);
    hu_outcome backward = hu_trial_judge(&a->recorded, &s->now, true, s->score);
    a->before = hu_outcome_worse(&forward, &backward);
    s->now.is_recorded = false;
    if (find_freed(s)) s->now.is_freed = a->is_freed;
}

static hu_status find_options(search *s, const hu_opened_run *run) {
    hu_status st = HU_OK;
    HU_TRY(HU_NEW_ARRAY(&s->score, (size_t)s->advice->recorded.count + 1));
    judge_now(s);
    if (repairs(&s->advice->before)) {
        const hu_change none = {.way = s->now, .outcome = s->advice->before};
        if (needs_other(&s->advice->setup)) take(s, run, &none);
        goto done;
    }
    make_choices(s, &run->candidates);
    HU_TRY(search_side(s, &s->forward));
    HU_TRY(search_side(s, &s->backward));
    HU_TRY(join_sides(s, run));
done:
    hu_free(s->forward.change);
    hu_free(s->backward.change);
    hu_free(s->score);
    return st;
}

static hu_status create(const hu_opened_run *run, const hu_why *why, bool only_first,
                        hu_repair *advice) {
    hu_status st = HU_OK;
    search *s = NULL;
    *advice = (hu_repair){0};
    HU_TRY(hu_recorded_create(run, why, only_first, &advice->recorded));
    HU_TRY(hu_setup_read(run, why, &advice->recorded, &advice->setup));
    HU_TRY(HU_NEW_ARRAY(&advice->is_freed, (size_t)advice->recorded.count + 1));
    HU_TRY(HU_NEW(&s));
    *s = (search){.advice = advice, .scale = current_scale, .backward = {.is_backward = true}};
    HU_TRY(find_options(s, run));
done:
    hu_free(s);
    return st;
}

/* What numbers became while a run diverged fits no format: then the first that were recorded tell.
 */
hu_status hu_repair_create(const hu_opened_run *run, const hu_why *why, hu_repair *advice) {
    hu_status st = create(run, why, false, advice);
    bool is_mended = advice->count > 0 && !advice->is_partial;
    if (st != HU_OK || is_mended || why->verdict != HU_VERDICT_DIVERGED) return st;
    hu_repair_free(advice);
    return create(run, why, true, advice);
}

const char *hu_repair_untold(const hu_repair *advice, char *text) {
    const hu_recorded *recorded = &advice->recorded;
    for (uint32_t t = 0; t < recorded->count; t++)
        if (hu_is_backward(recorded->tensor[t].role)) return NULL;
    for (int r = 0; r < HU_ROLE_COUNT; r++) {
        const hu_quantizer *usual = &advice->setup.usual[r];
        if (!hu_is_backward((hu_role)r) || !hu_quantizer_rounds(usual)) continue;
        hu_quantizer_print(usual, text, HU_QUANTIZER_BYTES);
        return text;
    }
    return NULL;
}

bool hu_repair_mends(const hu_repair_option *option) {
    return repairs(&option->change.outcome);
}

void hu_repair_free(hu_repair *advice) {
    hu_recorded_free(&advice->recorded);
    hu_setup_free(&advice->setup);
    hu_free(advice->is_freed);
    *advice = (hu_repair){0};
}
