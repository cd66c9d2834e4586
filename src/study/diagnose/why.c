/* diagnose/why.c - how a tensor was in a step, and what it was made of. */
#include "diagnose/why.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "runlog/events.h"
#include "runlog/history.h"

const char *hu_failure_kind_name(hu_failure_kind kind) {
    static const char *const names[] = {
        "none",           "nan",          "infinity",    "overflow",    "saturation",
        "underflow",      "zero",         "update",      "update lost", "evaluation",
        "sums saturated", "sums flushed", "sums stalled"};
    return names[kind];
}

/* Non-finite numbers in what rounding left. */
hu_failure_kind hu_why_nonfinite(const hu_why *why, const hu_tensor_record *record) {
    const hu_round_counts *c = &record->counts;
    bool rounds = why->rounds[record->format];
    if (c->overflow && !why->saturates[record->format])
        return rounds ? HU_FAILURE_OVERFLOW : HU_FAILURE_INFINITY;
    return c->nan ? HU_FAILURE_NAN : HU_FAILURE_NONE;
}

size_t hu_why_steps_done(const hu_history *history) {
    size_t steps = 0;
    for (size_t r = 0; r < history->numerics_count; r++)
        steps += (size_t)history->numerics[r].steps;
    return steps > history->skip_count ? steps - history->skip_count : 0;
}

bool hu_why_is_vector(const hu_why *why, uint32_t place) {
    return hu_tensor_is_vector(why->walk->graph, why->walk->tensor[place]);
}

bool hu_why_may_vanish(const hu_why *why, uint32_t place) {
    static const char suffix[] = ".bias";
    hu_tensor tensor = why->walk->tensor[place];
    const hu_value_info *value = &why->walk->graph->value[tensor.value];
    size_t length = strlen(value->name), ending = sizeof suffix - 1;
    if (value->role == HU_VALUE_FACT) return true;
    if (!hu_why_is_vector(why, place)) return false;
    return tensor.kind != HU_TENSOR_VALUE ||
           (length >= ending && strcmp(value->name + length - ending, suffix) == 0);
}

uint64_t hu_nonzero_before(const hu_round_counts *counts) {
    return counts->elements - counts->nan - (counts->zero - counts->underflow);
}

/* Shares lost in the worst step of the record. */
static hu_failure_kind kind_of_loss(const hu_why *why, uint32_t place,
                                    const hu_tensor_record *record) {
    const hu_round_counts *c = &record->counts;
    uint64_t nonzero = hu_nonzero_before(c);
    if (hu_saturates_unasked(&why->quantizer[record->format]) &&
        record->most_overflow >= HU_EVENT_SATURATION)
        return HU_FAILURE_SATURATION;
    if (hu_why_may_vanish(why, place)) return HU_FAILURE_NONE;
    if (c->underflow && (double)c->underflow >= HU_EVENT_UNDERFLOW * (double)nonzero)
        return HU_FAILURE_UNDERFLOW;
    return c->elements && c->zero == c->elements ? HU_FAILURE_ZERO : HU_FAILURE_NONE;
}

/* A tensor's counts in a row, NULL if the row has none. */
const hu_tensor_record *hu_why_record(const hu_numerics_record *row, uint32_t tensor) {
    for (uint32_t i = 0; i < row->tensor_count; i++)
        if (row->tensor[i].tensor == tensor) return &row->tensor[i];
    return NULL;
}

/* The row that holds a step. */
const hu_numerics_record *hu_why_row(const hu_history *history, int64_t step) {
    for (size_t r = 0; r < history->numerics_count; r++) {
        const hu_numerics_record *row = &history->numerics[r];
        if (row->step >= step && row->step - row->steps < step) return row;
    }
    return NULL;
}

/* Non-finite numbers first: they are worse than lost ones. */
hu_condition hu_why_condition(const hu_why *why, uint32_t place, int64_t step) {
    const hu_numerics_record *row = hu_why_row(why->history, step);
    hu_condition condition = {HU_FAILURE_NONE, step, NULL};
    if (!row || why->tensor[place] == HU_NAMES_NONE) return condition;
    condition.record = hu_why_record(row, why->tensor[place]);
    if (!condition.record) return condition;
    condition.step = row->step;
    condition.kind = hu_why_nonfinite(why, condition.record);
    if (condition.kind == HU_FAILURE_NONE)
        condition.kind = kind_of_loss(why, place, condition.record);
    return condition;
}

/* Whether much of a tensor was lost in a step. */
static bool is_dead_at(const hu_why *why, uint32_t place, int64_t step) {
    for (size_t d = 0; d < why->death_count; d++) {
        const hu_failure *death = &why->deaths[d];
        bool lasts = death->steps == 0 || death->last >= step;
        if (death->place == place && death->step <= step && lasts) return true;
    }
    return false;
}

/* Whether most of a tensor's nonzero numbers became zero, or all of them are zero. */
static bool has_vanished(const hu_condition *condition) {
    return condition->kind == HU_FAILURE_UNDERFLOW || condition->kind == HU_FAILURE_ZERO;
}

/* Inherited if anything it is made of was dead, or had vanished where it got nothing but zeros;
 * made here if all of it was counted and alive; unknown if something was not counted. Labels and
 * sums are not counted and do not make it unknown. */
hu_failure_cause hu_why_cause(const hu_why *why, uint32_t place, int64_t step) {
    enum { ROOM = 64 };
    uint32_t source[ROOM];
    uint32_t count = hu_tensor_order_sources(why->walk, place, ROOM, source);
    hu_failure_cause cause = count ? HU_CAUSE_MADE_HERE : HU_CAUSE_GIVEN;
    hu_condition own = hu_why_condition(why, place, step);
    const hu_numerics_record *row = hu_why_row(why->history, step);
    for (uint32_t i = 0; i < count && i < ROOM; i++) {
        hu_condition condition = hu_why_condition(why, source[i], step);
        bool is_nonfinite =
            condition.record && hu_why_nonfinite(why, condition.record) != HU_FAILURE_NONE;
        bool is_gone = own.kind == HU_FAILURE_ZERO && has_vanished(&condition);
        if (is_nonfinite || is_gone || is_dead_at(why, source[i], step)) return HU_CAUSE_INHERITED;
        bool is_given = hu_is_given(&why->walk->graph->value[why->walk->tensor[source[i]].value]);
        bool may_miss = why->walk->tensor[source[i]].kind == HU_TENSOR_SUM || is_given;
        if (!condition.record && !may_miss && row) cause = HU_CAUSE_NOT_COUNTED;
    }
    return cause;
}

/* The latest histogram at or before the step. */
const hu_exponents *hu_why_exponents(const hu_why *why, uint32_t place, int64_t step,
                                     int64_t *recorded) {
    const hu_exponents *found = NULL;
    for (size_t r = 0; r < why->history->histogram_count; r++) {
        const hu_histogram_record *record = &why->history->histograms[r];
        for (uint32_t i = 0; record->step <= step && i < record->count; i++) {
            if (record->tensor[i].tensor != why->tensor[place]) continue;
            found = &record->tensor[i].exponents;
            *recorded = record->step;
        }
    }
    return found;
}

bool hu_saturates_unasked(const hu_quantizer *quantizer) {
    return quantizer->kind == HU_QUANTIZER_FLOAT &&
           (quantizer->scale == HU_SCALE_NONE || quantizer->scale == HU_SCALE_DELAYED);
}

bool hu_why_is_loss_output(const hu_why *why, uint32_t place) {
    const hu_graph *graph = why->walk->graph;
    hu_tensor tensor = why->walk->tensor[place];
    uint32_t producer = graph->value[tensor.value].producer;
    return tensor.kind == HU_TENSOR_VALUE && producer != HU_NONE &&
           graph->node[producer].op->is_loss;
}
