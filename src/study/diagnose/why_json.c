#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "diagnose/closest.h"
#include "diagnose/facts.h"
#include "diagnose/failures.h"
#include "diagnose/sentences.h"
#include "diagnose/wire_remedy.h"
#include "graph/graph.h"

/* Null where there is no nonzero finite number. */
static json_t *exponent_json(int32_t exponent) {
    return exponent == HU_NO_EXPONENT ? json_null() : json_integer(exponent);
}

/* State and counts of a tensor in a step. one_step: the record holds this step alone. */
static json_t *condition_json(const hu_diagnosis *x, uint32_t place, int64_t step) {
    char name[HU_TENSOR_NAME_BYTES];
    hu_condition condition = hu_why_condition(&x->why, place, step);
    const hu_tensor_record *record = condition.record;
    json_t *object = json_pack("{s:s}", "tensor", hu_fact_name(x, place, name));
    if (!record) {
        json_object_set_new(object, "state", json_string("not counted"));
        return object;
    }
    const hu_round_counts *c = &record->counts;
    const char *state =
        condition.kind == HU_FAILURE_NONE ? "alive" : hu_failure_kind_name(condition.kind);
    json_object_update_missing_new(
        object, json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:b}", "state", state,
                          "format", x->run.history->formats.name[record->format], "elements",
                          (json_int_t)c->elements, "overflow", (json_int_t)c->overflow, "underflow",
                          (json_int_t)c->underflow, "subnormal", (json_int_t)c->subnormal, "zero",
                          (json_int_t)c->zero, "nan", (json_int_t)c->nan, "max_exponent",
                          exponent_json(c->max_exponent), "min_exponent",
                          exponent_json(c->min_exponent), "one_step", condition.step == step));
    return object;
}

/* The tensors that a tensor is made of; sums that were not counted are left out. */
static json_t *sources_json(const hu_diagnosis *x, uint32_t place, int64_t step) {
    enum { ROOM = 64 };
    uint32_t source[ROOM], count = hu_tensor_order_sources(&x->run.walk, place, ROOM, source);
    json_t *list = json_array();
    for (uint32_t i = 0; i < count && i < ROOM; i++) {
        hu_condition condition = hu_why_condition(&x->why, source[i], step);
        if (condition.record || x->run.walk.tensor[source[i]].kind != HU_TENSOR_SUM)
            json_array_append_new(list, condition_json(x, source[i], step));
    }
    return list;
}

/* Each candidate format: whether it holds the numbers, and the shares that it would lose. */
static json_t *fits_json(const hu_diagnosis *x, uint32_t place, int64_t step) {
    json_t *list = json_array();
    for (int f = 0; f < x->run.candidates.count; f++) {
        hu_fit fit = hu_fact_fit(x, place, step, f);
        json_t *object =
            json_pack("{s:s, s:b}", "format", x->run.candidates.name[f], "holds", fit.holds);
        json_object_set_new(object, "overflow",
                            fit.has_shares ? hu_json_number(fit.lost.overflow.share) : json_null());
        json_object_set_new(object, "underflow",
                            fit.has_shares ? hu_json_number(fit.lost.underflow.share)
                                           : json_null());
        json_array_append_new(list, object);
    }
    return list;
}

/* Other ways between workers; null for tensors that stay at home. */
static json_t *ways_json(const hu_diagnosis *x, const hu_failure *death) {
    hu_wire_remedy advice;
    if (!hu_is_on_wire(&x->run, death->place)) return json_null();
    hu_wire_remedy_find(&x->run, &x->why, death, &advice);
    json_t *list = json_array();
    for (int i = 0; i < advice.count; i++) {
        const hu_wire_remedy_trial *option = &advice.option[i];
        bool is_known = option->loss.is_known;
        const hu_lost *lost = &option->loss.lost;
        json_array_append_new(
            list,
            json_pack("{s:s, s:o, s:o}", "keys", option->keys, "overflow",
                      is_known ? hu_json_number(lost->overflow.share) : json_null(), "underflow",
                      is_known ? hu_json_number(lost->underflow.share) : json_null()));
    }
    return json_pack("{s:s, s:o, s:o}", "way", advice.way, "recorded_step",
                     advice.step < 0 ? json_null() : json_integer((json_int_t)advice.step),
                     "to_try", list);
}

static const char *cause_name(hu_failure_cause cause) {
    static const char *const names[] = {"given", "produced", "passed on", "unknown"};
    return names[cause];
}

/* What was counted of the sums that died; null of tensors' own deaths. */
static json_t *sums_json(const hu_failure *death) {
    const hu_product_record *s = death->sums;
    if (!s) return json_null();
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "values", (json_int_t)s->values, "subnormal",
                     (json_int_t)s->subnormal, "overflow", (json_int_t)s->overflow, "terms",
                     (json_int_t)s->terms, "stalled", (json_int_t)s->stalled);
}

/* The accumulator that a death is of, or may be; null: none. */
static json_t *accumulator_json(const hu_diagnosis *x, const hu_failure *death) {
    char output[HU_TENSOR_NAME_BYTES];
    if (!hu_sums_suspected(death)) return json_null();
    const char *product =
        death->sums ? x->run.history->products.name[death->sums->product] : death->adder->name;
    const char *text =
        death->sums ? x->run.history->formats.name[death->sums->accumulator] : death->adder->text;
    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "product", product, "accumulator", text, "output",
                     hu_fact_name(x, death->place, output), "sums", sums_json(death), "sums_below",
                     exponent_json(hu_sums_reach(&x->why, death)));
}

/* One death with all that is known of it; null: there is none. */
static json_t *death_json(const hu_diagnosis *x, const hu_failure *death) {
    char name[HU_TENSOR_NAME_BYTES], maker[512], rule[HU_STATE_RULE_BYTES];
    const char *format;
    if (death->place == HU_NONE) return json_null();
    hu_round_counts c = hu_fact_counts(x, death, &format);
    json_t *object =
        json_pack("{s:s, s:I, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:I, s:o, "
                  "s:o, s:o, s:s?}",
                  "tensor", hu_fact_failure_name(x, death, name), "step", (json_int_t)death->step,
                  "kind", hu_failure_kind_name(death->kind), "role", cause_name(death->cause),
                  "maker", hu_fact_maker(x, death->place, maker, sizeof maker), "format", format,
                  "elements", (json_int_t)c.elements, "overflow", (json_int_t)c.overflow,
                  "underflow", (json_int_t)c.underflow, "zero", (json_int_t)c.zero, "nan",
                  (json_int_t)c.nan, "max_exponent", exponent_json(c.max_exponent), "min_exponent",
                  exponent_json(c.min_exponent), "spread", (json_int_t)death->spread, "inputs",
                  sources_json(x, death->place, death->step), "formats",
                  fits_json(x, death->place, death->step), "wire", ways_json(x, death),
                  "state_rule", hu_fact_state_rule(x, death, rule));
    if (object) json_object_set_new(object, "accumulator", accumulator_json(x, death));
    return object;
}

/* Every death, the worst first. last_step, steps: null where the rows do not tell; count, elements:
 * of the first step. */
static json_t *deaths_json(const hu_diagnosis *x) {
    json_t *list = json_array();
    char name[HU_TENSOR_NAME_BYTES];
    for (size_t d = 0; d < x->why.death_count; d++) {
        const hu_failure *death = &x->why.deaths[d];
        bool is_told = death->steps > 0;
        json_t *object = json_pack(
            "{s:I, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "step", (json_int_t)death->step,
            "tensor", hu_fact_failure_name(x, death, name), "kind",
            hu_failure_kind_name(death->kind), "last_step",
            is_told ? json_integer((json_int_t)death->last) : json_null(), "steps",
            is_told ? json_integer((json_int_t)death->steps) : json_null(), "share",
            hu_json_number(death->share), "lasted", hu_json_number(death->lasted), "behind",
            hu_json_number(death->behind), "severity", hu_json_number(death->severity));
        if (object && death->event)
            json_object_update_missing_new(
                object, json_pack("{s:I, s:I}", "count", (json_int_t)death->event->count,
                                  "elements", (json_int_t)death->event->elements));
        json_array_append_new(list, object);
    }
    return list;
}

/* Tensors after the death of which nothing is left. */
static json_t *gone_json(const hu_diagnosis *x) {
    json_t *list = json_array();
    char name[HU_TENSOR_NAME_BYTES];
    for (uint32_t i = 0; i < x->run.walk.count; i++)
        if (x->why.is_gone[i]) json_array_append_new(list, json_string(hu_fact_name(x, i, name)));
    return list;
}

/* The tensor that the user named, alive or dead. */
static json_t *asked_json(const hu_diagnosis *x, uint32_t place) {
    int64_t step = x->why.death.place == HU_NONE ? hu_fact_last_step(x) : x->why.death.step;
    json_t *object = condition_json(x, place, step);
    hu_failure_cause cause = hu_why_cause(&x->why, place, step);
    json_object_set_new(object, "step", json_integer((json_int_t)step));
    json_object_set_new(object, "role", json_string(cause_name(cause)));
    json_object_set_new(object, "inputs", sources_json(x, place, step));
    json_object_set_new(object, "formats", fits_json(x, place, step));
    return object;
}

/* ---- told ---- */

static json_t *text_or_null(const char *text) {
    return text ? json_string(text) : json_null();
}

static json_t *loss_json(const hu_closest_loss *loss) {
    if (!loss->tensor) return json_null();
    return json_pack("{s:s, s:s, s:o, s:I, s:I}", "tensor", loss->tensor, "format", loss->format,
                     "share", hu_json_number(loss->share), "step", (json_int_t)loss->step, "steps",
                     (json_int_t)loss->steps);
}

static json_t *closest_json(const hu_diagnosis *x) {
    hu_closest c = hu_closest_find(x);
    return json_pack(
        "{s:o, s:o, s:i, s:I, s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:o}", "overflow_tensor",
        text_or_null(c.overflow_tensor), "overflow_format", text_or_null(c.overflow_format),
        "headroom", (int)c.headroom, "overflow_step", (json_int_t)c.overflow_step,
        "underflow_tensor", text_or_null(c.underflow.tensor), "underflow_format",
        text_or_null(c.underflow.format), "underflow_share", hu_json_number(c.underflow.share),
        "underflow_step", (json_int_t)c.underflow.step, "underflow_steps",
        (json_int_t)c.underflow.steps, "saturation", loss_json(&c.saturation), "updates",
        loss_json(&c.updates), "wire_scaling", text_or_null(c.wire_scaling));
}

static json_t *worst_json(const hu_diagnosis *x, hu_failure_kind kind) {
    hu_worst_sums worst = hu_sums_worst(&x->why, kind);
    if (!worst.product) return json_null();
    return json_pack("{s:s, s:s, s:o, s:I}", "product", worst.product, "accumulator",
                     worst.accumulator, "share", hu_json_number(worst.share), "step",
                     (json_int_t)worst.step);
}

static json_t *sums_run_json(const hu_diagnosis *x) {
    if (!hu_sums_are_counted(&x->why)) return json_null();
    return json_pack("{s:o, s:o, s:o}", "saturated", worst_json(x, HU_FAILURE_SUMS_SATURATED),
                     "flushed", worst_json(x, HU_FAILURE_SUMS_FLUSHED), "stalled",
                     worst_json(x, HU_FAILURE_SUMS_STALLED));
}

json_t *hu_why_json(const hu_diagnosis *x, uint32_t asked) {
    static const char *const verdicts[] = {"fine", "hurt", "diverged"};
    json_t *object = json_pack(
        "{s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:o}", "run", x->run.folder, "verdict",
        verdicts[x->why.verdict], "last_step", (json_int_t)hu_fact_last_step(x), "skipped_steps",
        (json_int_t)x->why.skipped, "death", death_json(x, &x->why.death), "end",
        death_json(x, &x->why.end), "closest", closest_json(x), "losses", deaths_json(x));
    const hu_trouble *trouble = &x->why.trouble;
    if (object) json_object_set_new(object, "gone", gone_json(x));
    if (object)
        json_object_set_new(object, "trouble",
                            json_pack("{s:I, s:I, s:I}", "tensors_lost", (json_int_t)trouble->lost,
                                      "tensors_gone", (json_int_t)trouble->gone, "sums_failed",
                                      (json_int_t)trouble->sums));
    if (object) json_object_set_new(object, "sums", sums_run_json(x));
    if (object && x->run.history->collapsed)
        json_object_set_new(object, "collapsed", json_string(x->run.history->collapsed));
    if (object && x->run.history->warning[0])
        json_object_set_new(object, "warning", json_string(x->run.history->warning));
    if (object && asked != HU_NONE) json_object_set_new(object, "asked", asked_json(x, asked));
    return object;
}
