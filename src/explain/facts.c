/* explain/facts.c - what `why` says of a tensor: its maker, its counts, formats that would hold it.
 */
#include "explain/facts.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "explain/wire.h"
#include "graph/graph.h"
#include "show/json.h"

const char *hu_fact_name(const hu_explaining *x, uint32_t place, char *text) {
    hu_tensor_name(x->run.graph, x->run.walk.tensor[place], text);
    return text;
}

const char *hu_fact_death_name(const hu_explaining *x, const hu_death *death, char *text) {
    if (!death->sums) return hu_fact_name(x, death->place, text);
    snprintf(text, HU_TENSOR_NAME_BYTES, "%s", x->run.history->products.name[death->sums->product]);
    return text;
}

hu_status hu_fact_place(const hu_explaining *x, const char *name, uint32_t *place) {
    hu_status st = HU_OK;
    char text[HU_TENSOR_NAME_BYTES], nearest[256];
    void *block = NULL;
    *place = HU_NONE;
    if (!name) return HU_OK;
    for (uint32_t i = 0; i < x->run.walk.count; i++)
        if (strcmp(hu_fact_name(x, i, text), name) == 0) *place = i;
    if (*place != HU_NONE) return HU_OK;
    /* Advice: the nearest of the names that stand in the run's files. */
    HU_TRY(hu_alloc_array(x->run.history->tensors.count, sizeof(char *), &block));
    const char **names = block;
    for (uint32_t i = 0; i < x->run.history->tensors.count; i++)
        names[i] = x->run.history->tensors.name[i];
    hu_nearest(name, names, x->run.history->tensors.count, nearest, sizeof nearest);
    st = hu_fail(HU_ERR_UNKNOWN, "%s has no tensor '%.100s', nearest: %s", x->run.folder, name,
                 nearest);
done:
    hu_free(block);
    return st;
}

/* Adds "separator name (op)" and returns the bytes used, which stay below capacity. */
static size_t append(char *text, size_t capacity, size_t used, const char *separator,
                     const hu_node *node) {
    if (used >= capacity) return used;
    int more =
        snprintf(text + used, capacity - used, "%s%s (%s)", separator, node->name, node->op->name);
    return used + (more > 0 ? (size_t)more : 0);
}

const char *hu_fact_maker(const hu_explaining *x, uint32_t place, char *text, size_t capacity) {
    hu_tensor tensor = x->run.walk.tensor[place];
    const hu_value_info *value = &x->run.graph->value[tensor.value];
    size_t used = 0;
    text[0] = '\0';
    if (tensor.kind == HU_TENSOR_VALUE && value->producer != HU_NONE) {
        append(text, capacity, 0, "made by ", &x->run.graph->node[value->producer]);
    } else if (tensor.kind == HU_TENSOR_VALUE) {
        snprintf(text, capacity, "%s",
                 hu_is_loaded(value)              ? "from the data set"
                 : value->role == HU_VALUE_BUFFER ? "running statistics"
                                                  : "a parameter");
    } else if (tensor.kind == HU_TENSOR_WIRE) {
        snprintf(text, capacity, "a gradient on its way between workers");
    } else if (hu_tensor_is_state(tensor)) {
        snprintf(text, capacity, "kept by the optimizer: a sum or mean of %s",
                 tensor.kind == HU_TENSOR_MOMENTUM ? "gradients" : "squares of gradients");
    } else if (tensor.kind == HU_TENSOR_WIRE_SUM) {
        snprintf(text, capacity, "sums that workers make of gradients on their way");
    } else if (tensor.kind == HU_TENSOR_WEIGHTS) {
        snprintf(text, capacity, "the gradient as the product of its weights' gradient reads it");
    } else if (tensor.kind == HU_TENSOR_SUM) {
        snprintf(text, capacity, "the sum of the gradients that %u readers bring",
                 value->use_count);
    } else {
        for (uint32_t k = 0; k < value->use_count; k++) {
            if (!hu_use_has_gradient(x->run.graph, value->uses[k])) continue;
            const char *separator = used ? " and of " : "made by the backward part of ";
            used = append(text, capacity, used, separator,
                          &x->run.graph->node[x->run.graph->use[value->uses[k]].node]);
        }
    }
    return text;
}

/* The event that a loss was found by; it has the counts of its own step. */
static const hu_event_record *event_of(const hu_explaining *x, const hu_death *death) {
    if (death->event || death->kind != HU_DEATH_UPDATE) return death->event;
    for (size_t e = 0; e < x->run.history->event_count; e++) {
        const hu_event_record *event = &x->run.history->events[e];
        if (strcmp(event->kind, "update") == 0 && x->why.place[event->tensor] == death->place)
            return event;
    }
    return NULL;
}

/* Of all terms of the counted step. */
static hu_round_counts counts_of_sums(const hu_explaining *x, const hu_death *death,
                                      const char **format) {
    hu_round_counts counts;
    hu_round_counts_clear(&counts);
    *format = x->run.history->formats.name[death->sums->accumulator];
    counts.elements = death->sums->values;
    counts.overflow = death->sums->overflow;
    counts.subnormal = death->sums->subnormal;
    return counts;
}

/* The record of the step has all counts, over several steps perhaps; an event has one count of
 * exactly its step, which wins. */
hu_round_counts hu_fact_counts(const hu_explaining *x, const hu_death *death, const char **format) {
    hu_condition condition = hu_why_condition(&x->why, death->place, death->step);
    const hu_event_record *event = event_of(x, death);
    hu_round_counts counts;
    if (death->sums) return counts_of_sums(x, death, format);
    hu_round_counts_clear(&counts);
    uint64_t zero = 0;
    *format = "float32";
    if (condition.record) {
        counts = condition.record->counts;
        *format = x->run.history->formats.name[condition.record->format];
    }
    if (!event) return counts;
    *format = x->run.history->formats.name[event->format];
    /* A row of this step alone tells how many were zero before. */
    bool is_whole = counts.elements == event->elements && counts.underflow == event->count;
    zero = counts.zero;
    counts.elements = event->elements;
    counts.overflow = counts.underflow = counts.nan = counts.zero = 0;
    switch (death->kind) {
    case HU_DEATH_UNDERFLOW:
        counts.underflow = event->count;
        counts.zero = is_whole ? zero : event->count;
        break;
    case HU_DEATH_ZERO:
        counts.zero = event->count;
        break;
    case HU_DEATH_NAN:
        counts.nan = event->count;
        break;
    default:
        counts.overflow = event->count;
    }
    return counts;
}

/* On their way numbers have the scale that the format gets there. */
static hu_fit fit_on_wire(const hu_explaining *x, uint32_t place, int64_t step,
                          const hu_format *format) {
    hu_wire_loss loss = hu_wire_loss_in(&x->run, &x->why, place, step, format);
    return (hu_fit){.holds = hu_wire_holds(&loss), .has_shares = loss.is_known, .lost = loss.lost};
}

hu_fit hu_fact_fit(const hu_explaining *x, uint32_t place, int64_t step, int candidate) {
    hu_fit fit = {0};
    int64_t recorded;
    const hu_format *format = &x->run.candidates.format[candidate];
    if (hu_is_on_wire(&x->run, place)) return fit_on_wire(x, place, step, format);
    const hu_exponents *exponents = hu_why_exponents(&x->why, place, step, &recorded);
    hu_condition condition = hu_why_condition(&x->why, place, step);
    const hu_format_limits limits = hu_format_limits_of(format);
    /* A histogram of that very step tells shares. Without one the range of exponents decides. */
    if (exponents && (recorded == step || !condition.record)) {
        fit.has_shares = true;
        fit.lost = hu_exponents_lost(exponents, format, 0);
        uint64_t nonzero = exponents->elements - exponents->zero;
        if (nonzero)
            fit.vanished = fit.lost.underflow.share * (double)exponents->elements / (double)nonzero;
        fit.holds = fit.lost.overflow.share < 1e-6 && fit.lost.underflow.share <= 0.01;
        return fit;
    }
    if (!condition.record || condition.record->counts.nan) return fit;
    const hu_round_counts *c = &condition.record->counts;
    int32_t least = format->subnormals ? limits.emin - format->man_bits : limits.emin;
    fit.holds = c->max_exponent <= limits.emax &&
                (c->min_exponent == HU_NO_EXPONENT || c->min_exponent >= least);
    if (!x->why.rounds[condition.record->format] && c->overflow) fit.holds = false;
    return fit;
}

bool hu_is_optimizer_state(const hu_opened_run *run, uint32_t place) {
    return place != HU_NONE && hu_tensor_is_state(run->walk.tensor[place]);
}

/* State is packed in at most 16 bits, or not at all. */
static const char *first_that_holds(const hu_explaining *x, const hu_death *death) {
    enum { MOST_BITS = 16 };
    const hu_candidates *tried = &x->run.candidates;
    for (int f = 0; f < tried->count; f++)
        if (hu_format_bits(&tried->format[f]) <= MOST_BITS &&
            hu_fact_fit(x, death->place, death->step, f).holds)
            return tried->name[f];
    return "fp32";
}

const char *hu_fact_state_rule(const hu_explaining *x, const hu_death *death, char *text) {
    char name[HU_TENSOR_NAME_BYTES];
    if (death->kind == HU_DEATH_NONE || !hu_is_optimizer_state(&x->run, death->place)) return NULL;
    const char *sort = strrchr(hu_fact_name(x, death->place, name), '.');
    snprintf(text, HU_STATE_RULE_BYTES, "*%.40s: %.80s", sort, first_that_holds(x, death));
    return text;
}

int64_t hu_fact_last_step(const hu_explaining *x) {
    int64_t last = -1;
    for (size_t r = 0; r < x->run.history->numerics_count; r++)
        if (x->run.history->numerics[r].step > last) last = x->run.history->numerics[r].step;
    return last;
}

/* Binades between the largest number and the largest of its format. Scaled formats, blocks and
 * uniform integers move along, so they have no such distance. */
static void compare_overflow(const hu_explaining *x, const hu_tensor_record *record, int64_t step,
                             hu_closest *closest) {
    hu_quantizer quantizer;
    const char *name = x->run.history->formats.name[record->format];
    if (record->counts.max_exponent == HU_NO_EXPONENT) return;
    if (hu_quantizer_parse(name, HU_ROUND_NEAREST_EVEN, &quantizer) != HU_OK) return;
    if (quantizer.kind != HU_QUANTIZER_FLOAT || quantizer.scale != HU_SCALE_NONE) return;
    int32_t headroom = hu_format_limits_of(&quantizer.format).emax - record->counts.max_exponent;
    if (closest->overflow_tensor && headroom >= closest->headroom) return;
    closest->overflow_tensor = x->run.history->tensors.name[record->tensor];
    closest->overflow_format = name;
    closest->headroom = headroom;
    closest->overflow_step = step;
}

/* By the share of the nonzero numbers in the steps of a record. */
static void compare_underflow(const hu_explaining *x, const hu_tensor_record *record,
                              const hu_numerics_record *row, hu_closest *closest) {
    uint64_t nonzero = hu_nonzero_before(&record->counts);
    double share = nonzero ? (double)record->counts.underflow / (double)nonzero : 0.0;
    if (share <= closest->underflow_share) return;
    closest->underflow_tensor = x->run.history->tensors.name[record->tensor];
    closest->underflow_format = x->run.history->formats.name[record->format];
    closest->underflow_share = share;
    closest->underflow_step = row->step;
    closest->underflow_steps = row->steps;
}

static bool has_current_scale(const hu_quantizer *quantizer) {
    return quantizer->kind == HU_QUANTIZER_FLOAT && quantizer->scale == HU_SCALE_CURRENT;
}

/* Over all records of steps that were taken. */
hu_closest hu_fact_closest(const hu_explaining *x) {
    hu_closest closest = {.all_current = true};
    for (size_t r = 0; r < x->run.history->numerics_count; r++) {
        const hu_numerics_record *row = &x->run.history->numerics[r];
        for (uint32_t i = 0; i < row->tensor_count; i++) {
            const hu_tensor_record *record = &row->tensor[i];
            uint32_t place = x->why.place[record->tensor];
            bool is_loss = place != HU_NONE && hu_why_is_loss_output(&x->why, place);
            if (!x->why.rounds[record->format] || is_loss) continue;
            closest.rounds = true;
            if (row->skipped) continue;
            closest.is_counted = true;
            closest.all_current &= has_current_scale(&x->why.quantizer[record->format]);
            compare_overflow(x, record, row->step, &closest);
            if (place == HU_NONE || hu_why_may_vanish(&x->why, place)) continue;
            compare_underflow(x, record, row, &closest);
        }
    }
    return closest;
}

/* ---- JSON ---- */

/* Null where there is no nonzero finite number. */
static json_t *exponent_json(int32_t exponent) {
    return exponent == HU_NO_EXPONENT ? json_null() : json_integer(exponent);
}

/* State and counts of a tensor in a step. one_step: the record holds this step alone. */
static json_t *condition_json(const hu_explaining *x, uint32_t place, int64_t step) {
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
        condition.kind == HU_DEATH_NONE ? "alive" : hu_death_kind_name(condition.kind);
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
static json_t *sources_json(const hu_explaining *x, uint32_t place, int64_t step) {
    enum { ROOM = 64 };
    uint32_t source[ROOM], count = hu_walk_sources(&x->run.walk, place, ROOM, source);
    json_t *list = json_array();
    for (uint32_t i = 0; i < count && i < ROOM; i++) {
        hu_condition condition = hu_why_condition(&x->why, source[i], step);
        if (condition.record || x->run.walk.tensor[source[i]].kind != HU_TENSOR_SUM)
            json_array_append_new(list, condition_json(x, source[i], step));
    }
    return list;
}

/* Each candidate format: whether it holds the numbers, and the shares that it would lose. */
static json_t *fits_json(const hu_explaining *x, uint32_t place, int64_t step) {
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
static json_t *ways_json(const hu_explaining *x, const hu_death *death) {
    hu_wire_advice advice;
    if (!hu_is_on_wire(&x->run, death->place)) return json_null();
    hu_wire_advise(&x->run, &x->why, death, &advice);
    json_t *list = json_array();
    for (int i = 0; i < advice.count; i++) {
        const hu_wire_try *option = &advice.option[i];
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

static const char *cause_name(hu_death_cause cause) {
    static const char *const names[] = {"given", "produced", "passed on", "unknown"};
    return names[cause];
}

/* One death with all that is known of it; null: there is none. */
static json_t *death_json(const hu_explaining *x, const hu_death *death) {
    char name[HU_TENSOR_NAME_BYTES], maker[512], rule[HU_STATE_RULE_BYTES];
    const char *format;
    if (death->place == HU_NONE) return json_null();
    hu_round_counts c = hu_fact_counts(x, death, &format);
    return json_pack("{s:s, s:I, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:I, s:o, "
                     "s:o, s:o, s:s?}",
                     "tensor", hu_fact_death_name(x, death, name), "step", (json_int_t)death->step,
                     "kind", hu_death_kind_name(death->kind), "role", cause_name(death->cause),
                     "maker", hu_fact_maker(x, death->place, maker, sizeof maker), "format", format,
                     "elements", (json_int_t)c.elements, "overflow", (json_int_t)c.overflow,
                     "underflow", (json_int_t)c.underflow, "zero", (json_int_t)c.zero, "nan",
                     (json_int_t)c.nan, "max_exponent", exponent_json(c.max_exponent),
                     "min_exponent", exponent_json(c.min_exponent), "spread",
                     (json_int_t)death->spread, "inputs",
                     sources_json(x, death->place, death->step), "formats",
                     fits_json(x, death->place, death->step), "wire", ways_json(x, death),
                     "state_rule", hu_fact_state_rule(x, death, rule));
}

static json_t *text_or_null(const char *text) {
    return text ? json_string(text) : json_null();
}

static json_t *closest_json(const hu_explaining *x) {
    hu_closest c = hu_fact_closest(x);
    return json_pack(
        "{s:o, s:o, s:i, s:I, s:o, s:o, s:o, s:I, s:I}", "overflow_tensor",
        text_or_null(c.overflow_tensor), "overflow_format", text_or_null(c.overflow_format),
        "headroom", (int)c.headroom, "overflow_step", (json_int_t)c.overflow_step,
        "underflow_tensor", text_or_null(c.underflow_tensor), "underflow_format",
        text_or_null(c.underflow_format), "underflow_share", hu_json_number(c.underflow_share),
        "underflow_step", (json_int_t)c.underflow_step, "underflow_steps",
        (json_int_t)c.underflow_steps);
}

/* Every death, the worst first. last_step, steps: null where the rows do not tell; count, elements:
 * of the first step. */
static json_t *deaths_json(const hu_explaining *x) {
    json_t *list = json_array();
    char name[HU_TENSOR_NAME_BYTES];
    for (size_t d = 0; d < x->why.death_count; d++) {
        const hu_death *death = &x->why.deaths[d];
        bool is_told = death->steps > 0;
        json_t *object = json_pack(
            "{s:I, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "step", (json_int_t)death->step,
            "tensor", hu_fact_death_name(x, death, name), "kind", hu_death_kind_name(death->kind),
            "last_step", is_told ? json_integer((json_int_t)death->last) : json_null(), "steps",
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

/* Tensors behind the death of which nothing is left. */
static json_t *gone_json(const hu_explaining *x) {
    json_t *list = json_array();
    char name[HU_TENSOR_NAME_BYTES];
    for (uint32_t i = 0; i < x->run.walk.count; i++)
        if (x->why.is_gone[i]) json_array_append_new(list, json_string(hu_fact_name(x, i, name)));
    return list;
}

/* The tensor that the user named, alive or dead. */
static json_t *asked_json(const hu_explaining *x, uint32_t place) {
    int64_t step = x->why.death.place == HU_NONE ? hu_fact_last_step(x) : x->why.death.step;
    json_t *object = condition_json(x, place, step);
    hu_death_cause cause = hu_why_cause(&x->why, place, step);
    json_object_set_new(object, "step", json_integer((json_int_t)step));
    json_object_set_new(object, "role", json_string(cause_name(cause)));
    json_object_set_new(object, "inputs", sources_json(x, place, step));
    json_object_set_new(object, "formats", fits_json(x, place, step));
    return object;
}

json_t *hu_why_json(const hu_explaining *x, uint32_t asked) {
    static const char *const verdicts[] = {"fine", "hurt", "diverged"};
    json_t *object = json_pack(
        "{s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:o}", "run", x->run.folder, "verdict",
        verdicts[x->why.verdict], "last_step", (json_int_t)hu_fact_last_step(x), "skipped_steps",
        (json_int_t)x->why.skipped, "death", death_json(x, &x->why.death), "end",
        death_json(x, &x->why.end), "closest", closest_json(x), "losses", deaths_json(x));
    if (object) json_object_set_new(object, "gone", gone_json(x));
    if (object && x->run.history->collapsed)
        json_object_set_new(object, "collapsed", json_string(x->run.history->collapsed));
    if (object && x->run.history->warning[0])
        json_object_set_new(object, "warning", json_string(x->run.history->warning));
    if (object && asked != HU_NONE) json_object_set_new(object, "asked", asked_json(x, asked));
    return object;
}
