#include "diagnose/remedy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "diagnose/expected.h"

/* ---- Another way of rounding, tried on the numbers that a run recorded ---- */

#define FORWARD_ERROR 0.04
#define BACKWARD_ERROR 0.075
#define SMALL_ERROR 0.5 /* of parameters of one dimension */
#define FATAL_SCORE 100.0

/* Binades that are left to grow where the end of a format makes infinities. */
enum { HEADROOM = 1 };

/* Numbers of a tensor against those that are recorded of it, or of the one that stands for it. */
typedef struct spread {
    int32_t least, most; /* binades */
} spread;

/* Gradients while a training goes well, against those of its first step: in float32 the root mean
 * square of none shrank by more than 8 binades or grew by more than 4 (docs/results/advice.md,
 * "Advice").
 */
static const spread training = {-8, 4};

/* Gradients of parameters are sums over a batch; gradients of activations grow and shrink from
 * layer to layer. */
static spread spread_of(hu_role role) {
    static const spread spreads[HU_ROLE_COUNT] = {
        [HU_ROLE_ACT_GRAD] = {-8, 3}, [HU_ROLE_WEIGHT_GRAD] = {0, 6}};
    return spreads[role];
}

/* How a tensor is rounded; backward formats that saturate tell of it where a loss scale listens. */
static hu_quantizer quantizer_of(const hu_recorded *recorded, const hu_remedy_rounding *way,
                                 uint32_t t) {
    const hu_recorded_tensor *tensor = &recorded->tensor[t];
    hu_quantizer q = tensor->now;
    if (way->is_freed && way->is_freed[t]) q = way->usual[tensor->role];
    if (way->changes[tensor->role]) q = way->role[tensor->role];
    bool signals = hu_is_backward(tensor->role) && way->scaler != HU_LOSS_SCALE_NONE;
    if (signals && q.kind == HU_QUANTIZER_FLOAT && q.format.overflow == HU_OVERFLOW_SAT)
        q.format.overflow = HU_OVERFLOW_INF;
    return q;
}

/* What a tensor's numbers may be in steps that the run did not take. */
static spread spread_in(const hu_recorded *recorded, uint32_t t) {
    const hu_recorded_tensor *tensor = &recorded->tensor[t];
    if (tensor->source != t) return spread_of(tensor->role);
    bool moves = recorded->is_early && hu_is_backward(tensor->role);
    return moves ? training : (spread){0, 0};
}

/* The largest loss scale with so many binades of room. */
static int32_t limit_of(const hu_recorded *recorded, const hu_remedy_rounding *way,
                        int32_t headroom) {
    int32_t limit = HU_NO_EXPONENT;
    for (uint32_t t = 0; t < recorded->count; t++) {
        const hu_recorded_tensor *tensor = &recorded->tensor[t];
        hu_quantizer q = quantizer_of(recorded, way, t);
        bool has_end = q.kind == HU_QUANTIZER_FLOAT && q.scale == HU_SCALE_NONE;
        if (!hu_is_backward(tensor->role) || !has_end || tensor->source == HU_NONE) continue;
        int32_t top = recorded->tensor[tensor->source].top;
        if (tensor->source != t) top += spread_of(tensor->role).most;
        int32_t most = hu_format_limits_of(&q.format).emax - headroom - top;
        if (limit == HU_NO_EXPONENT || most < limit) limit = most;
    }
    return limit;
}

int32_t hu_remedy_trial_limit(const hu_recorded *recorded, const hu_remedy_rounding *way) {
    bool stays = way->scaler == HU_LOSS_SCALE_CONSTANT;
    return limit_of(recorded, way, recorded->is_early && stays ? training.most : HEADROOM);
}

/* log2 of the loss scale that gradients have: a dynamic one falls until they fit. */
static int32_t scale_of(const hu_recorded *recorded, const hu_remedy_rounding *way) {
    if (way->scaler == HU_LOSS_SCALE_NONE) return 0;
    if (way->scaler == HU_LOSS_SCALE_CONSTANT) return way->scale;
    int32_t limit = limit_of(recorded, way, 0);
    return limit == HU_NO_EXPONENT || limit > way->scale ? way->scale : limit;
}

/* ---- judging ---- */

typedef struct judging {
    const hu_recorded *recorded;
    const hu_remedy_rounding *way;
    int32_t scale;
    hu_remedy_outcome result;
} judging;

static double bar_of(const hu_recorded_tensor *tensor) {
    if (tensor->is_small) return SMALL_ERROR;
    return hu_is_backward(tensor->role) ? BACKWARD_ERROR : FORWARD_ERROR;
}

/* Adds what a tensor loses of one histogram, its numbers so many binades larger; gives its score.
 */
static double judge_sample(judging *j, uint32_t t, const hu_quantizer *q,
                           const hu_recorded_sample *sample, int32_t more) {
    const hu_recorded_tensor *tensor = &j->recorded->tensor[t];
    bool is_backward = hu_is_backward(tensor->role), is_recorded = j->way->is_recorded;
    int32_t shift = more + (is_backward && !is_recorded ? j->scale - sample->scale : 0);
    bool adapts = is_backward && j->way->scaler == HU_LOSS_SCALE_DYNAMIC;
    bool has_room = is_recorded || adapts || more > 0;
    hu_rounding_loss e =
        hu_rounding_loss_expect(sample->numbers, q, shift, has_room ? 0 : HEADROOM);
    double lost = e.vanished + e.exceeded, score = e.error / bar_of(tensor);
    hu_remedy_outcome *r = &j->result;
    if (!tensor->is_small && (lost > r->lost || r->lost_tensor == HU_NONE)) {
        r->lost = lost;
        r->lost_tensor = t;
    }
    if (!tensor->is_small && (e.error > r->error || r->error_tensor == HU_NONE)) {
        r->error = e.error;
        r->error_tensor = t;
    }
    if (e.is_fatal) r->is_fatal = true;
    return e.is_fatal ? FATAL_SCORE : score;
}

/* Whether a skipped step says nothing of how the run fared: its loss scale was given up. */
static bool is_passed_over(const judging *j, const hu_recorded_tensor *tensor,
                           const hu_recorded_sample *sample) {
    return sample->was_skipped && j->way->is_recorded && hu_is_backward(tensor->role) &&
           j->way->scaler == HU_LOSS_SCALE_DYNAMIC;
}

/* As recorded, and as small and as large as it may become: a dynamic scale makes way for what
 * grows. */
static double judge_tensor(judging *j, uint32_t t) {
    const hu_recorded_tensor *tensor = &j->recorded->tensor[t];
    if (tensor->source == HU_NONE) return 0.0;
    const hu_recorded_tensor *source = &j->recorded->tensor[tensor->source];
    hu_quantizer q = quantizer_of(j->recorded, j->way, t);
    bool is_told = tensor->source == t, is_recorded = j->way->is_recorded;
    bool adapts = j->way->scaler == HU_LOSS_SCALE_DYNAMIC;
    spread between = is_recorded ? (spread){0, 0} : spread_in(j->recorded, t);
    int32_t shift[] = {between.least, is_told && adapts ? 0 : between.most};
    double most = 0.0;
    if (!is_told && is_recorded) return 0.0;
    for (uint32_t s = 0; s < source->samples; s++) {
        const hu_recorded_sample *sample = &j->recorded->sample[source->first + s];
        if (is_passed_over(j, tensor, sample)) continue;
        for (int i = 0; i < (shift[0] == shift[1] ? 1 : 2); i++)
            most = fmax(most, judge_sample(j, t, &q, sample, shift[i]));
    }
    return most;
}

hu_remedy_outcome hu_remedy_trial_judge(const hu_recorded *recorded, const hu_remedy_rounding *way,
                                        bool backward, double *scores) {
    judging j = {
        recorded, way, scale_of(recorded, way), {.lost_tensor = HU_NONE, .error_tensor = HU_NONE}};
    for (uint32_t t = 0; t < recorded->count; t++) {
        if (hu_is_backward(recorded->tensor[t].role) != backward) continue;
        double score = judge_tensor(&j, t);
        if (score > j.result.score) j.result.score = score;
        if (scores) scores[t] = score;
    }
    return j.result;
}

/* Both directions together: the worse of each. */
static hu_remedy_outcome remedy_outcome_worse(const hu_remedy_outcome *a,
                                              const hu_remedy_outcome *b) {
    hu_remedy_outcome worse = *a;
    bool takes_lost = a->lost_tensor == HU_NONE || b->lost > a->lost;
    bool takes_error = a->error_tensor == HU_NONE || b->error > a->error;
    worse.score = a->score > b->score ? a->score : b->score;
    worse.is_fatal = a->is_fatal || b->is_fatal;
    if (takes_lost && b->lost_tensor != HU_NONE) {
        worse.lost = b->lost;
        worse.lost_tensor = b->lost_tensor;
    }
    if (takes_error && b->error_tensor != HU_NONE) {
        worse.error = b->error;
        worse.error_tensor = b->error_tensor;
    }
    return worse;
}

/* ---- repair ---- */

/* What would repair a run: other formats for a role, a loss scale, another rule
 * for a tensor, each tried on the recorded numbers of all tensors before it is told.
 */

enum {
    CHOICES_MOST = 2 * HU_CANDIDATES_MOST,
    CHANGES_MOST = 3 * (CHOICES_MOST + 2), /* of one side: each choice with each kind of scaling */
    CHEAP_MOST = 3,
    MENDING_MOST = HU_REMEDY_MOST - CHEAP_MOST,
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
    hu_remedy *advice;
    choice choice[CHOICES_MOST];
    int choices;
    double *score; /* [recorded.count] as the run rounds */
    hu_remedy_rounding now;
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
    hu_remedy *a = s->advice;
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
    int32_t limit = hu_remedy_trial_limit(&s->advice->recorded, &change->way);
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
    change.outcome =
        hu_remedy_trial_judge(&s->advice->recorded, &change.way, side->is_backward, NULL);
    side->change[side->count++] = change;
}

static bool repairs(const hu_remedy_outcome *outcome) {
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
    both.outcome = remedy_outcome_worse(&forward->outcome, &backward->outcome);
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

static void take(search *s, const hu_run_record *run, const hu_change *change) {
    hu_remedy *a = s->advice;
    for (int o = 0; o < a->count; o++)
        if (says_no_more(change, &a->option[o].change)) return;
    if (a->count == MENDING_MOST) return;
    hu_remedy_option *option = &a->option[a->count++];
    *option = (hu_remedy_option){.change = *change};
    hu_remedy_words(run, a, change, option);
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
static bool is_told(const hu_remedy *a, const hu_change *change) {
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

static hu_remedy_outcome judge_both(const hu_recorded *recorded, const hu_remedy_rounding *way) {
    hu_remedy_outcome forward = hu_remedy_trial_judge(recorded, way, false, NULL);
    hu_remedy_outcome backward = hu_remedy_trial_judge(recorded, way, true, NULL);
    return remedy_outcome_worse(&forward, &backward);
}

/* A change that keeps the formats' bits, told though it may not mend all. */
static void take_cheap(search *s, const hu_run_record *run, hu_change *change) {
    hu_remedy *a = s->advice;
    change->changes = count_changes(change);
    if (a->count == HU_REMEDY_MOST) return;
    hu_remedy_option *option = &a->option[a->count++];
    *option = (hu_remedy_option){.change = *change};
    hu_remedy_words(run, a, change, option);
}

/* The formats of now with a scale of each tensor, where roles are in trouble. */
static void take_own(search *s, const hu_run_record *run, const char *scale) {
    hu_remedy *a = s->advice;
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
static uint32_t count_bad(search *s, const hu_remedy_rounding *way) {
    const hu_recorded *recorded = &s->advice->recorded;
    uint32_t bad = 0;
    (void)hu_remedy_trial_judge(recorded, way, true, s->score);
    for (uint32_t t = 0; t < recorded->count; t++)
        bad += hu_is_backward(recorded->tensor[t].role) && is_bad(s, t);
    return bad;
}

/* A dynamic loss scale alone, where it leaves half as many gradients in trouble: it costs nothing,
 * so that it is told though it may not mend all. */
static void take_dynamic(search *s, const hu_run_record *run) {
    hu_remedy *a = s->advice;
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

static hu_status join_sides(search *s, const hu_run_record *run) {
    hu_change *all = NULL;
    int forward = least(s->forward.count, JOINED_MOST), count = 0;
    int backward = least(s->backward.count, JOINED_MOST);
    hu_remedy *a = s->advice;
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
    hu_remedy *a = s->advice;
    s->now = (hu_remedy_rounding){.scaler = a->setup.scaler,
                                  .scale = a->setup.scale,
                                  .usual = a->setup.usual,
                                  .is_recorded = true};
    hu_remedy_outcome forward = hu_remedy_trial_judge(&a->recorded, &s->now, false, s->score);
    hu_remedy_outcome backward = hu_remedy_trial_judge(&a->recorded, &s->now, true, s->score);
    a->before = remedy_outcome_worse(&forward, &backward);
    s->now.is_recorded = false;
    if (find_freed(s)) s->now.is_freed = a->is_freed;
}

static hu_status find_options(search *s, const hu_run_record *run) {
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

static hu_status create(const hu_run_record *run, const hu_why *why, bool only_first,
                        hu_remedy *advice) {
    hu_status st = HU_OK;
    search *s = NULL;
    *advice = (hu_remedy){0};
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
hu_status hu_remedy_create(const hu_run_record *run, const hu_why *why, hu_remedy *advice) {
    hu_status st = create(run, why, false, advice);
    bool is_mended = advice->count > 0 && !advice->is_partial;
    if (st != HU_OK || is_mended || why->verdict != HU_VERDICT_DIVERGED) return st;
    hu_remedy_free(advice);
    return create(run, why, true, advice);
}

const char *hu_remedy_untold(const hu_remedy *advice, char *text) {
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

bool hu_remedy_mends(const hu_remedy_option *option) {
    return repairs(&option->change.outcome);
}

void hu_remedy_free(hu_remedy *advice) {
    hu_recorded_free(&advice->recorded);
    hu_setup_free(&advice->setup);
    hu_free(advice->is_freed);
    *advice = (hu_remedy){0};
}
