#include "diagnose/wire_remedy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/cost_model.h"
#include "tensor/quantizer.h"

/* How the gradients of a run travel. */
typedef struct way {
    bool is_known; /* false: the folder does not say */
    hu_comm_options options;
    const char *exact; /* borrowed: from the configuration */
} way;

bool hu_is_on_wire(const hu_run_record *run, uint32_t place) {
    hu_tensor_kind kind = run->walk.tensor[place].kind;
    return kind == HU_TENSOR_WIRE || kind == HU_TENSOR_WIRE_SUM;
}

/* ---- the run's own way ---- */

static const char *text_of(const hu_run_record *run, const char *key) {
    const hu_keys *node = run->config ? hu_keys_find(run->config, key) : NULL;
    return node && hu_keys_kind_of(node) == HU_KEYS_TEXT ? hu_keys_value(node) : "";
}

static bool is_on(const hu_run_record *run, const char *key) {
    return strcmp(text_of(run, key), "on") == 0;
}

/* The format may change by epoch, so it is that of the step's record. */
static way way_of(const hu_run_record *run, const hu_why *why, uint32_t place, int64_t step) {
    way w = {.exact = text_of(run, "comm.exact")};
    hu_comm_options *o = &w.options;
    hu_condition condition = hu_why_condition(why, place, step);
    if (!run->config || !condition.record) return w;
    const char *format = run->history->formats.name[condition.record->format];
    o->workers = atoi(text_of(run, "comm.workers"));
    o->kahan = is_on(run, "comm.kahan");
    o->error_feedback = is_on(run, "comm.error_feedback");
    w.is_known =
        o->workers > 0 && hu_plain_format_parse(format, &o->format) == HU_OK &&
        hu_comm_scaling_parse(text_of(run, "comm.scaling"), &o->scaling, &o->constant) == HU_OK &&
        !o->scaling->code &&
        hu_comm_schedule_parse(text_of(run, "comm.schedule"), &o->schedule, &o->group) == HU_OK;
    return w;
}

/* ---- what a way loses ---- */

/* What travels is made of its gradient, which the run has recorded. */
static const hu_exponents *exponents_of(const hu_run_record *run, const hu_why *why, uint32_t place,
                                        int64_t step, int64_t *recorded) {
    while (hu_is_on_wire(run, place))
        if (hu_tensor_order_sources(&run->walk, place, 1, &place) == 0) return NULL;
    return hu_why_exponents(why, place, step, recorded);
}

static hu_wire_loss loss_of(const hu_comm_options *o, const hu_exponents *x) {
    hu_wire_loss loss = {.is_known = x != NULL, .sums_fit = true, .is_most = o->scaling->fresh};
    if (!x) return loss;
    hu_comm_expected expected = hu_comm_expect(o, x);
    loss.lost = expected.lost;
    loss.sums_fit = expected.sums_fit;
    return loss;
}

hu_wire_loss hu_wire_remedy_loss_in(const hu_run_record *run, const hu_why *why, uint32_t place,
                                    int64_t step, const hu_format *format) {
    way w = way_of(run, why, place, step);
    int64_t recorded;
    if (!w.is_known) return (hu_wire_loss){.is_known = false};
    w.options.format = *format;
    return loss_of(&w.options, exponents_of(run, why, place, step, &recorded));
}

bool hu_wire_remedy_holds(const hu_wire_loss *loss) {
    return loss->is_known && loss->sums_fit && loss->lost.overflow.share < 1e-6 &&
           loss->lost.underflow.share <= 0.01;
}

/* ---- options ---- */

/* What the search for options needs. */
typedef struct search {
    const hu_run_record *run;
    const hu_exponents *exponents; /* NULL: none were recorded */
    way way;
    bool is_overflow; /* numbers became too large */
    hu_wire_remedy *advice;
} search;

static double sum_of(const hu_wire_loss *loss) {
    return loss->lost.overflow.share + loss->lost.underflow.share;
}

static void tell_effect(const hu_wire_loss *loss, char *text) {
    text[0] = '\0';
    if (!loss->is_known) return;
    int used = snprintf(text, HU_WIRE_EFFECT_BYTES, "would lose %s%.3g %%",
                        loss->is_most ? "at most " : "", 100.0 * loss->lost.underflow.share);
    if (loss->lost.overflow.share > 0.0)
        used += snprintf(text + used, HU_WIRE_EFFECT_BYTES - (size_t)used, ", %.3g %% by overflow",
                         100.0 * loss->lost.overflow.share);
    if (!loss->sums_fit)
        snprintf(text + used, HU_WIRE_EFFECT_BYTES - (size_t)used, ", and sums may overflow");
}

/* An option with room for its words; NULL: there is no more room. */
static hu_wire_remedy_trial *add_option(search *s, const hu_wire_loss *loss) {
    if (s->advice->count == HU_WIRE_TRIES_MOST) return NULL;
    hu_wire_remedy_trial *option = &s->advice->option[s->advice->count++];
    *option = (hu_wire_remedy_trial){.loss = *loss};
    tell_effect(loss, option->effect);
    return option;
}

/* Other sums where these cannot be made as the scaling wants it, which comes with more keys. */
static bool make_fit(hu_comm_options *o, char *more, size_t capacity) {
    hu_comm_plan *plan;
    hu_comm_layer layer = {.name = "any", .elements = 1};
    int32_t group;
    more[0] = '\0';
    if (o->scaling->wide && o->schedule->adds_on_way) {
        (void)hu_comm_schedule_parse("pairwise", &o->schedule, &group);
        snprintf(more, capacity, " schedule=pairwise");
    }
    if (o->scaling->wide && o->kahan) {
        size_t used = strlen(more);
        snprintf(more + used, capacity - used, " comm.kahan=off");
        o->kahan = false;
    }
    if (hu_comm_plan_create(o, &layer, 1, &plan) != HU_OK) return false;
    hu_comm_plan_free(plan);
    return true;
}

/* Whether numbers are lost less by half, or sums find room that they had not. */
static bool is_better(const search *s, const hu_wire_loss *loss) {
    const hu_wire_loss *now = &s->advice->now;
    if (s->is_overflow) return loss->sums_fit && sum_of(loss) <= sum_of(now);
    return sum_of(loss) < 0.5 * sum_of(now);
}

/* Whether another option says the same with fewer words. */
static bool is_told(const search *s, const hu_wire_loss *loss) {
    for (int i = 0; i < s->advice->count; i++)
        if (sum_of(&s->advice->option[i].loss) == sum_of(loss)) return true;
    return false;
}

/* A scaling that takes no constant: that of one tensor would be that of all. */
static void try_scaling(search *s, const hu_comm_scaling *scaling) {
    hu_comm_options o = s->way.options;
    char more[64];
    bool scales = !scaling->code && (scaling->exponent || scaling->fresh);
    if (scaling == o.scaling || !scales) return;
    o.scaling = scaling;
    if (!make_fit(&o, more, sizeof more)) return;
    hu_wire_loss loss = loss_of(&o, s->exponents);
    if (loss.is_known && (!is_better(s, &loss) || is_told(s, &loss))) return;
    hu_wire_remedy_trial *option = add_option(s, &loss);
    if (option) snprintf(option->keys, sizeof option->keys, "scaling=%s%s", scaling->name, more);
}

/* The narrowest candidate that holds the numbers under a scaling and has less than `bits`; gives
 * its bits, or `bits` where there is none. */
static uint32_t try_formats(search *s, const hu_comm_scaling *scaling, uint32_t bits) {
    const hu_candidates *candidates = &s->run->candidates;
    hu_comm_options o = s->way.options;
    hu_wire_loss best_loss = {0};
    hu_format unused;
    const char *best = NULL;
    char more[64];
    bool is_own = scaling == o.scaling;
    o.scaling = scaling;
    if (!s->exponents || !make_fit(&o, more, sizeof more)) return bits;
    for (int f = 0; f < candidates->count; f++) {
        uint32_t width = hu_format_bits(&candidates->format[f]);
        if (width >= bits || hu_format_equal(&candidates->format[f], &s->way.options.format))
            continue;
        /* Blocks and scales of their own are no formats of the wire. */
        if (hu_plain_format_parse(candidates->name[f], &unused) != HU_OK) continue;
        o.format = candidates->format[f];
        hu_wire_loss loss = loss_of(&o, s->exponents);
        if (!hu_wire_remedy_holds(&loss)) continue;
        best = candidates->name[f];
        best_loss = loss;
        bits = width;
    }
    hu_wire_remedy_trial *option = best ? add_option(s, &best_loss) : NULL;
    if (option)
        snprintf(option->keys, sizeof option->keys, "comm.format=%s%s%s%s", best,
                 is_own ? "" : " scaling=", is_own ? "" : scaling->name, more);
    return bits;
}

/* Whether neither the run's own scaling nor the paper's in the run's own format is enough. */
static bool needs_format(const search *s) {
    hu_comm_options o = s->way.options;
    if (o.scaling->exponent || o.scaling->fresh) return false;
    o.scaling = &hu_comm_scaling_aps;
    hu_wire_loss loss = loss_of(&o, s->exponents);
    return !hu_wire_remedy_holds(&loss);
}

/* What loses nothing for good. */
static void add_others(search *s, const hu_failure *death) {
    const hu_wire_loss unknown = {.is_known = false};
    const hu_value_info *value = &s->run->graph->value[s->run->walk.tensor[death->place].value];
    hu_wire_remedy_trial *option;
    if (!s->is_overflow && !s->way.options.error_feedback && (option = add_option(s, &unknown))) {
        snprintf(option->keys, sizeof option->keys, "comm.error_feedback=on");
        snprintf(option->effect, sizeof option->effect,
                 "what is lost joins the gradient of the next step");
    }
    if ((option = add_option(s, &unknown))) {
        snprintf(option->keys, sizeof option->keys, "comm.exact=%.100s%s%.100s", s->way.exact,
                 s->way.exact[0] ? "," : "", value->name);
        snprintf(option->effect, sizeof option->effect, "this one travels in float32");
    }
}

/* "8 workers, e4m3, scaling none, schedule ring" */
static void tell_way(const way *w, const char *format, char *text) {
    const hu_comm_options *o = &w->options;
    char scaling[32], schedule[32];
    hu_comm_scaling_print(o->scaling, o->constant, scaling, sizeof scaling);
    hu_comm_schedule_print(o->schedule, o->group, schedule, sizeof schedule);
    snprintf(text, HU_WIRE_EFFECT_BYTES, "%d worker%s, %.40s, scaling %s, schedule %s", o->workers,
             o->workers == 1 ? "" : "s", format, scaling, schedule);
}

void hu_wire_remedy_find(const hu_run_record *run, const hu_why *why, const hu_failure *death,
                         hu_wire_remedy *advice) {
    enum { ANY_BITS = 64 };
    *advice = (hu_wire_remedy){.step = -1};
    search s = {.run = run, .way = way_of(run, why, death->place, death->step), .advice = advice};
    if (!s.way.is_known) return;
    hu_condition condition = hu_why_condition(why, death->place, death->step);
    tell_way(&s.way, run->history->formats.name[condition.record->format], advice->way);
    /* What it got was dead already: no way of sending helps. */
    if (death->cause == HU_CAUSE_INHERITED) return;
    s.exponents = exponents_of(run, why, death->place, death->step, &advice->step);
    s.is_overflow = death->kind != HU_FAILURE_UNDERFLOW && death->kind != HU_FAILURE_ZERO;
    if (!s.exponents) advice->step = -1;
    advice->now = loss_of(&s.way.options, s.exponents);
    const hu_comm_scaling *scaling;
    for (size_t i = 0; (scaling = hu_comm_scaling_at(i)); i++) try_scaling(&s, scaling);
    uint32_t bits = try_formats(&s, s.way.options.scaling, ANY_BITS);
    if (needs_format(&s)) try_formats(&s, &hu_comm_scaling_aps, bits);
    add_others(&s, death);
}
