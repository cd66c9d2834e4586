/* explain/why.c - where numbers died. A tensor is dead in a step in which it had infinities or
 * NaNs, or lost much to rounding; the first death in time, then in the order of computation, is the
 * one that is explained. */
#include "explain/why.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "journal/events.h"

const char *hu_death_kind_name(hu_death_kind kind) {
    static const char *const names[] = {"none",       "nan",       "infinity", "overflow",
                                        "saturation", "underflow", "zero",     "update"};
    return names[kind];
}

/* ---- names ---- */

/* What each format of the journal does to numbers that are too large. */
static hu_status read_formats(hu_why *why) {
    const hu_names *formats = &why->history->formats;
    for (uint32_t i = 0; i < formats->count; i++) {
        hu_quantizer quantizer;
        if (hu_quantizer_parse(formats->name[i], HU_ROUND_NEAREST_EVEN, &quantizer) != HU_OK)
            continue; /* an accumulator */
        why->rounds[i] = hu_quantizer_rounds(&quantizer);
        why->saturates[i] =
            quantizer.kind == HU_QUANTIZER_BLOCK || quantizer.kind == HU_QUANTIZER_UNIFORM ||
            (quantizer.kind == HU_QUANTIZER_FLOAT && quantizer.format.overflow == HU_OVERFLOW_SAT);
    }
    return HU_OK;
}

/* Places of the walk (the order of computation) and names of the journal, both ways. */
static void find_names(hu_why *why) {
    char name[HU_TENSOR_NAME_BYTES];
    for (uint32_t t = 0; t < why->history->tensors.count; t++) why->place[t] = HU_NONE;
    for (uint32_t i = 0; i < why->walk->count; i++) {
        hu_tensor_name(why->walk->graph, why->walk->tensor[i], name);
        why->tensor[i] = hu_names_find(&why->history->tensors, name);
        if (why->tensor[i] != HU_NAMES_NONE) why->place[why->tensor[i]] = i;
    }
}

static hu_status make_array(size_t count, size_t bytes, void *array) {
    return hu_alloc_array(count, bytes, (void **)array);
}

static hu_status make_lists(hu_why *why) {
    hu_status st = HU_OK;
    HU_TRY(make_array(why->history->tensors.count, sizeof *why->place, &why->place));
    HU_TRY(make_array(why->walk->count, sizeof *why->tensor, &why->tensor));
    HU_TRY(make_array(why->history->formats.count, sizeof *why->saturates, &why->saturates));
    HU_TRY(make_array(why->history->formats.count, sizeof *why->rounds, &why->rounds));
done:
    return st;
}

/* ---- conditions ---- */

/* Non-finite numbers in what rounding left. */
static hu_death_kind kind_of_nonfinite(const hu_why *why, const hu_tensor_record *record) {
    const hu_round_counts *c = &record->counts;
    bool rounds = why->rounds[record->format];
    if (c->overflow && !why->saturates[record->format])
        return rounds ? HU_DEATH_OVERFLOW : HU_DEATH_INFINITY;
    return c->nan ? HU_DEATH_NAN : HU_DEATH_NONE;
}

bool hu_why_is_vector(const hu_why *why, uint32_t place) {
    const hu_value_info *value = &why->walk->graph->value[why->walk->tensor[place].value];
    return value->role == HU_VALUE_PARAMETER && value->shape.rank < 2;
}

/* Shares lost in the worst step of the record. */
static hu_death_kind kind_of_loss(const hu_why *why, uint32_t place,
                                  const hu_tensor_record *record) {
    const hu_round_counts *c = &record->counts;
    uint64_t nonzero = c->elements - c->nan - (c->zero - c->underflow);
    if (why->rounds[record->format] && record->most_overflow >= HU_EVENT_SATURATION)
        return HU_DEATH_SATURATION;
    if (hu_why_is_vector(why, place)) return HU_DEATH_NONE;
    if (c->underflow && (double)c->underflow >= HU_EVENT_UNDERFLOW * (double)nonzero)
        return HU_DEATH_UNDERFLOW;
    return c->elements && c->zero == c->elements ? HU_DEATH_ZERO : HU_DEATH_NONE;
}

/* A tensor's counts in a row, NULL if the row has none. */
static const hu_tensor_record *record_in(const hu_numerics_record *row, uint32_t tensor) {
    for (uint32_t i = 0; i < row->tensor_count; i++)
        if (row->tensor[i].tensor == tensor) return &row->tensor[i];
    return NULL;
}

/* The row that holds a step. */
static const hu_numerics_record *row_of(const hu_history *history, int64_t step) {
    for (size_t r = 0; r < history->numerics_count; r++) {
        const hu_numerics_record *row = &history->numerics[r];
        if (row->step >= step && row->step - row->steps < step) return row;
    }
    return NULL;
}

/* Non-finite numbers first: they are worse than lost ones. */
hu_condition hu_why_condition(const hu_why *why, uint32_t place, int64_t step) {
    const hu_numerics_record *row = row_of(why->history, step);
    hu_condition condition = {HU_DEATH_NONE, step, NULL};
    if (!row || why->tensor[place] == HU_NAMES_NONE) return condition;
    condition.record = record_in(row, why->tensor[place]);
    if (!condition.record) return condition;
    condition.step = row->step;
    condition.kind = kind_of_nonfinite(why, condition.record);
    if (condition.kind == HU_DEATH_NONE)
        condition.kind = kind_of_loss(why, place, condition.record);
    return condition;
}

/* What a tensor was not before `step` it was not made dead by: events tell the first step. */
static bool is_dead_by(const hu_why *why, uint32_t place, int64_t step) {
    const hu_history *history = why->history;
    hu_death death;
    for (size_t e = 0; e < history->event_count; e++)
        if (history->events[e].tensor == why->tensor[place] && history->events[e].step <= step &&
            hu_why_is_death(why, &history->events[e], &death))
            return true;
    return false;
}

/* Inherited if anything it is made of was dead; made here if all of it was counted and alive;
 * unknown if something was not counted. Labels and sums are not counted and do not make it unknown.
 */
hu_death_cause hu_why_cause(const hu_why *why, uint32_t place, int64_t step) {
    enum { ROOM = 64 };
    uint32_t source[ROOM];
    uint32_t count = hu_walk_sources(why->walk, place, ROOM, source);
    hu_death_cause cause = count ? HU_CAUSE_MADE_HERE : HU_CAUSE_GIVEN;
    const hu_numerics_record *row = row_of(why->history, step);
    for (uint32_t i = 0; i < count && i < ROOM; i++) {
        hu_condition condition = hu_why_condition(why, source[i], step);
        bool is_nonfinite =
            condition.record && kind_of_nonfinite(why, condition.record) != HU_DEATH_NONE;
        if (is_nonfinite || is_dead_by(why, source[i], step)) return HU_CAUSE_INHERITED;
        bool is_label =
            why->walk->graph->value[why->walk->tensor[source[i]].value].role == HU_VALUE_TARGET;
        bool may_miss = why->walk->tensor[source[i]].kind == HU_TENSOR_SUM || is_label;
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

/* ---- deaths ---- */

/* The kind of an event by its word; HU_DEATH_NONE for events that are no deaths. */
static hu_death_kind kind_named(const char *name) {
    for (int kind = HU_DEATH_NAN; kind <= HU_DEATH_UPDATE; kind++)
        if (strcmp(name, hu_death_kind_name((hu_death_kind)kind)) == 0) return (hu_death_kind)kind;
    return HU_DEATH_NONE;
}

/* Non-finite numbers of skipped steps are explained by the rows of these steps. */
static bool was_skipped(const hu_history *history, int64_t step) {
    const hu_numerics_record *row = row_of(history, step);
    return row && row->skipped;
}

/* Whether the tensor was given a wider format for what it lost. */
static bool was_promoted(const hu_history *history, const hu_event_record *event) {
    for (size_t p = 0; p < history->promotion_count; p++) {
        const hu_promotion_record *promotion = &history->promotions[p];
        if (promotion->tensor == event->tensor && promotion->step >= event->step &&
            promotion->step <= event->step + 1)
            return true;
    }
    return false;
}

bool hu_why_is_loss_output(const hu_why *why, uint32_t place) {
    const hu_graph *graph = why->walk->graph;
    hu_tensor tensor = why->walk->tensor[place];
    uint32_t producer = graph->value[tensor.value].producer;
    return tensor.kind == HU_TENSOR_VALUE && producer != HU_NONE &&
           graph->node[producer].op->is_loss;
}

bool hu_why_is_death(const hu_why *why, const hu_event_record *event, hu_death *death) {
    hu_death_kind kind = kind_named(event->kind);
    uint32_t place = why->place[event->tensor];
    *death = (hu_death){.kind = kind, .step = event->step, .place = place};
    if (place == HU_NONE) return false;
    bool is_lost = kind == HU_DEATH_SATURATION || kind == HU_DEATH_UNDERFLOW;
    if (is_lost && hu_why_is_loss_output(why, place)) return false;
    switch (kind) {
    case HU_DEATH_SATURATION:
        return !was_promoted(why->history, event);
    case HU_DEATH_UNDERFLOW:
    case HU_DEATH_ZERO:
        return !hu_why_is_vector(why, place);
    case HU_DEATH_INFINITY:
    case HU_DEATH_NAN:
        return !was_skipped(why->history, event->step);
    default:
        return false;
    }
}

/* Earlier in time, then in the order of computation; no death comes last. */
static bool is_before(const hu_death *a, const hu_death *b) {
    if (b->kind == HU_DEATH_NONE || a->step != b->step)
        return b->kind == HU_DEATH_NONE || a->step < b->step;
    return a->place < b->place;
}

/* Whether so much was lost that what comes behind can be no better. */
static bool is_heavy(const hu_death *death, const hu_event_record *event) {
    double share = event->elements ? (double)event->count / (double)event->elements : 0.0;
    return (death->kind == HU_DEATH_SATURATION && share >= 0.5) ||
           (death->kind == HU_DEATH_UNDERFLOW && share >= 0.9) || death->kind == HU_DEATH_ZERO;
}

/* Of the events, the first death in time, then in the order of the walk. */
static hu_death first_death(const hu_why *why, bool only_heavy) {
    hu_death first = {.place = HU_NONE}, death;
    const hu_history *history = why->history;
    for (size_t e = 0; e < history->event_count; e++) {
        if (!hu_why_is_death(why, &history->events[e], &death)) continue;
        if (only_heavy && !is_heavy(&death, &history->events[e])) continue;
        if (is_before(&death, &first)) first = death;
    }
    return first;
}

/* The first non-finite tensor of a row, and how many there are behind it. */
static hu_death first_nonfinite(const hu_why *why, const hu_numerics_record *row) {
    hu_death death = {.place = HU_NONE, .step = row->step};
    for (uint32_t i = 0; i < why->walk->count; i++) {
        const hu_tensor_record *record =
            why->tensor[i] == HU_NAMES_NONE ? NULL : record_in(row, why->tensor[i]);
        hu_death_kind kind = record ? kind_of_nonfinite(why, record) : HU_DEATH_NONE;
        if (kind == HU_DEATH_NONE) continue;
        if (death.kind == HU_DEATH_NONE) {
            death.kind = kind;
            death.place = i;
        } else {
            death.spread++;
        }
    }
    return death;
}

/* A weight that the last update broke. */
static hu_death broken_update(const hu_why *why, int64_t step) {
    hu_death death = {.place = HU_NONE};
    const hu_history *history = why->history;
    for (size_t e = 0; e < history->event_count; e++) {
        const hu_event_record *event = &history->events[e];
        uint32_t place = why->place[event->tensor];
        if (event->step != step || strcmp(event->kind, "update") != 0 || place == HU_NONE) continue;
        if (death.kind == HU_DEATH_NONE || place < death.place)
            death = (hu_death){.kind = HU_DEATH_UPDATE, .step = step, .place = place};
    }
    return death;
}

/* What the run ended with: the culprit of its last skipped step, at the first of the skipped steps
 * up to the end in which it was not finite. */
static hu_death end_of(const hu_why *why) {
    const hu_history *history = why->history;
    hu_death none = {.place = HU_NONE};
    size_t last = history->numerics_count;
    if (last == 0 || !history->numerics[last - 1].skipped) return none;
    const hu_numerics_record *row = &history->numerics[--last];
    hu_death death = first_nonfinite(why, row);
    if (death.kind == HU_DEATH_NONE) return broken_update(why, row->step);
    while (last-- > 0 && history->numerics[last].skipped &&
           history->numerics[last].step == row->step - 1) {
        row = &history->numerics[last];
        hu_death earlier = first_nonfinite(why, row);
        if (earlier.place == death.place) death = earlier;
    }
    return death;
}

/* A run that diverged is explained by its end, unless something was lost heavily before: then by
 * that, and the end is told after it. */
static void find_death(hu_why *why) {
    hu_death end = end_of(why), first = first_death(why, end.kind != HU_DEATH_NONE);
    why->verdict = end.kind != HU_DEATH_NONE ? HU_VERDICT_DIVERGED : HU_VERDICT_FINE;
    why->death = end;
    why->end = (hu_death){.place = HU_NONE};
    if (first.kind == HU_DEATH_NONE) return;
    if (end.kind == HU_DEATH_NONE) {
        why->verdict = HU_VERDICT_HURT;
        why->death = first;
    } else if (is_before(&first, &end)) {
        why->death = first;
        why->end = end;
    }
}

static hu_death_cause cause_of(const hu_why *why, const hu_death *death) {
    if (death->kind == HU_DEATH_UPDATE) return HU_CAUSE_MADE_HERE;
    return hu_why_cause(why, death->place, death->step);
}

hu_status hu_why_create(const hu_history *history, const hu_walk *walk, hu_why *why) {
    hu_status st = HU_OK;
    *why = (hu_why){.history = history, .walk = walk};
    HU_TRY(make_lists(why));
    HU_TRY(read_formats(why));
    find_names(why);
    for (size_t r = 0; r < history->numerics_count; r++)
        why->skipped += history->numerics[r].skipped;
    find_death(why);
    if (why->death.place != HU_NONE) why->death.cause = cause_of(why, &why->death);
    if (why->end.place != HU_NONE) why->end.cause = cause_of(why, &why->end);
done:
    if (st != HU_OK) hu_why_free(why);
    return st;
}

void hu_why_free(hu_why *why) {
    hu_free(why->place);
    hu_free(why->tensor);
    hu_free(why->saturates);
    hu_free(why->rounds);
    *why = (hu_why){0};
}
