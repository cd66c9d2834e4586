/* diagnose/facts.c - what `why` says of a tensor: its maker, its counts, formats that would hold
 * it.
 */
#include "diagnose/facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "diagnose/failures.h"
#include "diagnose/wire_remedy.h"
#include "graph/graph.h"

const char *hu_fact_name(const hu_diagnosis *x, uint32_t place, char *text) {
    hu_tensor_name(x->run.graph, x->run.walk.tensor[place], text);
    return text;
}

const char *hu_fact_failure_name(const hu_diagnosis *x, const hu_failure *death, char *text) {
    if (!death->sums) return hu_fact_name(x, death->place, text);
    snprintf(text, HU_TENSOR_NAME_BYTES, "%s", x->run.history->products.name[death->sums->product]);
    return text;
}

hu_status hu_fact_place(const hu_diagnosis *x, const char *name, uint32_t *place) {
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

const char *hu_fact_maker(const hu_diagnosis *x, uint32_t place, char *text, size_t capacity) {
    hu_tensor tensor = x->run.walk.tensor[place];
    const hu_value_info *value = &x->run.graph->value[tensor.value];
    text[0] = '\0';
    if (tensor.kind == HU_TENSOR_VALUE && value->producer != HU_NONE) {
        const hu_node *node = &x->run.graph->node[value->producer];
        snprintf(text, capacity, "made by %s (%s)", node->name, node->op->name);
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
            const hu_node *node = &x->run.graph->node[x->run.graph->use[value->uses[k]].node];
            hu_note_add(text, capacity, " and of ", "%s%s (%s)",
                        text[0] ? "" : "made by the backward part of ", node->name, node->op->name);
        }
    }
    return text;
}

/* The event that a loss was found by; it has the counts of its own step. */
static const hu_event_record *event_of(const hu_diagnosis *x, const hu_failure *death) {
    if (death->event || death->kind != HU_FAILURE_UPDATE) return death->event;
    for (size_t e = 0; e < x->run.history->event_count; e++) {
        const hu_event_record *event = &x->run.history->events[e];
        if (strcmp(event->kind, "update") == 0 && x->why.place[event->tensor] == death->place)
            return event;
    }
    return NULL;
}

/* Of all terms of the counted step. */
static hu_round_counts counts_of_sums(const hu_diagnosis *x, const hu_failure *death,
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
hu_round_counts hu_fact_counts(const hu_diagnosis *x, const hu_failure *death,
                               const char **format) {
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
    case HU_FAILURE_UNDERFLOW:
        counts.underflow = event->count;
        counts.zero = is_whole ? zero : event->count;
        break;
    case HU_FAILURE_ZERO:
        counts.zero = event->count;
        break;
    case HU_FAILURE_NAN:
        counts.nan = event->count;
        break;
    default:
        counts.overflow = event->count;
    }
    return counts;
}

/* On their way numbers have the scale that the format gets there. */
static hu_fit fit_on_wire(const hu_diagnosis *x, uint32_t place, int64_t step,
                          const hu_format *format) {
    hu_wire_loss loss = hu_wire_remedy_loss_in(&x->run, &x->why, place, step, format);
    return (hu_fit){
        .holds = hu_wire_remedy_holds(&loss), .has_shares = loss.is_known, .lost = loss.lost};
}

hu_fit hu_fact_fit(const hu_diagnosis *x, uint32_t place, int64_t step, int candidate) {
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
    int32_t least = ilogb(limits.min_subnormal);
    fit.holds = c->max_exponent <= limits.emax &&
                (c->min_exponent == HU_NO_EXPONENT || c->min_exponent >= least);
    if (!x->why.rounds[condition.record->format] && c->overflow) fit.holds = false;
    return fit;
}

bool hu_is_optimizer_state(const hu_run_record *run, uint32_t place) {
    return place != HU_NONE && hu_tensor_is_state(run->walk.tensor[place]);
}

/* State is packed in at most 16 bits, or not at all. */
static const char *first_that_holds(const hu_diagnosis *x, const hu_failure *death) {
    enum { MOST_BITS = 16 };
    const hu_candidates *tried = &x->run.candidates;
    for (int f = 0; f < tried->count; f++)
        if (hu_format_bits(&tried->format[f]) <= MOST_BITS &&
            hu_fact_fit(x, death->place, death->step, f).holds)
            return tried->name[f];
    return "fp32";
}

const char *hu_fact_state_rule(const hu_diagnosis *x, const hu_failure *death, char *text) {
    char name[HU_TENSOR_NAME_BYTES];
    if (death->kind == HU_FAILURE_NONE || !hu_is_optimizer_state(&x->run, death->place))
        return NULL;
    const char *sort = strrchr(hu_fact_name(x, death->place, name), '.');
    snprintf(text, HU_STATE_RULE_BYTES, "*%.40s: %.80s", sort, first_that_holds(x, death));
    return text;
}

int64_t hu_fact_last_step(const hu_diagnosis *x) {
    int64_t last = -1;
    for (size_t r = 0; r < x->run.history->numerics_count; r++)
        if (x->run.history->numerics[r].step > last) last = x->run.history->numerics[r].step;
    return last;
}
