#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "diagnose/failures.h"
#include "diagnose/why.h"
#include "runlog/events.h"
#include "runlog/history.h"

/* ---- names ---- */

/* What each format of the journal does to numbers that are too large. */
static hu_status read_formats(hu_why *why) {
    const hu_names *formats = &why->history->formats;
    for (uint32_t i = 0; i < formats->count; i++) {
        hu_quantizer quantizer;
        if (hu_quantizer_parse(formats->name[i], HU_ROUND_NEAREST_EVEN, &quantizer) != HU_OK)
            continue; /* an accumulator */
        why->quantizer[i] = quantizer;
        why->rounds[i] = hu_quantizer_rounds(&quantizer);
        why->saturates[i] =
            quantizer.kind == HU_QUANTIZER_BLOCK || quantizer.kind == HU_QUANTIZER_UNIFORM ||
            (quantizer.kind == HU_QUANTIZER_FLOAT && quantizer.format.overflow == HU_OVERFLOW_SAT);
    }
    return HU_OK;
}

/* Places of the walk (the order of computation) and names of the journal, both ways. */
static void find_names(hu_why *why) {
    hu_history_places(why->history, why->walk, why->place);
    for (uint32_t i = 0; i < why->walk->count; i++) why->tensor[i] = HU_NAMES_NONE;
    for (uint32_t t = 0; t < why->history->tensors.count; t++)
        if (why->place[t] != HU_NONE) why->tensor[why->place[t]] = t;
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
    HU_TRY(make_array(why->history->formats.count, sizeof *why->quantizer, &why->quantizer));
done:
    return st;
}

/* ---- the end ---- */

/* The first non-finite tensor of a row, and how many there are after it. */
static hu_failure first_nonfinite(const hu_why *why, const hu_numerics_record *row) {
    hu_failure death = {.place = HU_NONE, .step = row->step};
    for (uint32_t i = 0; i < why->walk->count; i++) {
        const hu_tensor_record *record =
            why->tensor[i] == HU_NAMES_NONE ? NULL : hu_why_record(row, why->tensor[i]);
        hu_failure_kind kind = record ? hu_why_nonfinite(why, record) : HU_FAILURE_NONE;
        if (kind == HU_FAILURE_NONE) continue;
        if (death.kind == HU_FAILURE_NONE) {
            death.kind = kind;
            death.place = i;
        } else {
            death.spread++;
        }
    }
    return death;
}

/* A weight that the last update broke. */
static hu_failure broken_update(const hu_why *why, int64_t step) {
    hu_failure death = {.place = HU_NONE};
    const hu_history *history = why->history;
    for (size_t e = 0; e < history->event_count; e++) {
        const hu_event_record *event = &history->events[e];
        uint32_t place = why->place[event->tensor];
        if (event->step != step || strcmp(event->kind, "update") != 0 || place == HU_NONE) continue;
        if (death.kind == HU_FAILURE_NONE || place < death.place)
            death = (hu_failure){.kind = HU_FAILURE_UPDATE, .step = step, .place = place};
    }
    return death;
}

/* Skipped steps in a row at the end of the records. */
static size_t skipped_at_end(const hu_history *history) {
    size_t count = 0, last = history->numerics_count;
    while (count < last && history->numerics[last - 1 - count].skipped &&
           history->numerics[last - 1 - count].step + (int64_t)count ==
               history->numerics[last - 1].step)
        count++;
    return count;
}

/* The culprit of the last skipped step, at the first of the skipped steps up to the end in which it
 * was not finite. */
static hu_failure culprit_of(const hu_why *why, size_t skipped) {
    const hu_history *history = why->history;
    const hu_numerics_record *row = &history->numerics[history->numerics_count - 1];
    hu_failure death = first_nonfinite(why, row);
    if (death.kind == HU_FAILURE_NONE) return broken_update(why, row->step);
    for (size_t back = 1; back < skipped; back++) {
        hu_failure earlier = first_nonfinite(why, row - back);
        if (earlier.place == death.place) death = earlier;
    }
    return death;
}

/* Steps that a loss scale may take to be found, from its usual first value down to 1. */
enum { SCALE_SEARCH = 16 };

/* Whether the last two rows have one loss scale: it is not being searched for. */
static bool keeps_scale(const hu_history *history) {
    size_t count = history->metrics_count;
    return count >= 2 &&
           history->metrics[count - 1].loss_scale == history->metrics[count - 2].loss_scale;
}

/* Whether the run takes no step any more, though it has not given up. Another loss scale would not
 * help numbers of the forward pass. */
static bool is_stuck(const hu_why *why, const hu_failure *culprit, size_t skipped) {
    if (culprit->place == HU_NONE || skipped < 2) return false;
    return why->walk->tensor[culprit->place].kind == HU_TENSOR_VALUE || keeps_scale(why->history) ||
           skipped > hu_why_steps_done(why->history) + SCALE_SEARCH;
}

/* What the run ended with, and whether it did: a step that loss scaling skips ends no run. */
static void find_end(hu_why *why, hu_failure *end) {
    size_t skipped = skipped_at_end(why->history);
    *end = (hu_failure){.place = HU_NONE};
    why->verdict = why->history->diverged ? HU_VERDICT_DIVERGED : HU_VERDICT_FINE;
    if (skipped == 0) return;
    hu_failure culprit = culprit_of(why, skipped);
    if (why->verdict == HU_VERDICT_DIVERGED)
        *end = culprit;
    else if (is_stuck(why, &culprit, skipped)) {
        *end = culprit;
        why->verdict = HU_VERDICT_HURT;
    }
}

/* Whether the tensor is a number of the network's own, and no copy that workers send or an
 * optimizer keeps. */
static bool is_own(const hu_why *why, uint32_t place) {
    hu_tensor tensor = why->walk->tensor[place];
    return tensor.kind != HU_TENSOR_WIRE && tensor.kind != HU_TENSOR_WIRE_SUM &&
           !hu_tensor_is_state(tensor);
}

/* The worst loss among what a tensor is made of, in the step of its own; false: there is none. */
static bool find_lost_source(const hu_why *why, const hu_failure *death, hu_failure *worst) {
    enum { ROOM = 64 };
    uint32_t source[ROOM], count = hu_tensor_order_sources(why->walk, death->place, ROOM, source);
    hu_failure one;
    *worst = (hu_failure){.place = HU_NONE};
    for (uint32_t i = 0; i < count && i < ROOM; i++)
        if (hu_failures_vanished(why, source[i], death->step, &one) && one.share > worst->share)
            *worst = one;
    return worst->kind != HU_FAILURE_NONE;
}

/* Where numbers began to vanish: up from the tensor with the worst loss as long as one of those
 * that it is made of lost most of its own nonzero numbers already. */
static hu_failure origin_of(const hu_why *why, const hu_failure *death) {
    hu_failure origin = *death, above;
    while ((origin.kind == HU_FAILURE_UNDERFLOW || origin.kind == HU_FAILURE_ZERO) &&
           is_own(why, origin.place) && find_lost_source(why, &origin, &above))
        origin = above;
    return origin;
}

/* The worst death that explains how the run ended; of one that diverged or collapsed the first in
 * time, of equal ones the worst. NULL: there is none. */
static const hu_failure *find_begin(const hu_why *why, const hu_failure *end) {
    const hu_failure *begin = NULL;
    bool has_failed = why->verdict == HU_VERDICT_DIVERGED || why->history->collapsed;
    for (size_t d = 0; d < why->death_count; d++) {
        const hu_failure *death = &why->deaths[d];
        bool explains = end->kind == HU_FAILURE_NONE || hu_failure_explains(death, end);
        bool is_before = !begin || (has_failed && death->step < begin->step);
        if (explains && is_before) begin = death;
    }
    return begin;
}

/* A run that diverged is explained by its end, unless something was lost heavily before: then by
 * the begin of that, and the end is told after it. */
static void find_death(hu_why *why) {
    hu_failure end;
    find_end(why, &end);
    const hu_failure *begin = find_begin(why, &end);
    why->death = begin ? origin_of(why, begin) : end;
    why->end = begin ? end : (hu_failure){.place = HU_NONE};
    if (why->verdict == HU_VERDICT_FINE && why->death.kind != HU_FAILURE_NONE)
        why->verdict = HU_VERDICT_HURT;
}

static hu_failure_cause cause_of(const hu_why *why, const hu_failure *death) {
    if (death->kind == HU_FAILURE_UPDATE || death->kind == HU_FAILURE_LOST)
        return HU_CAUSE_MADE_HERE;
    hu_failure_cause cause = hu_why_cause(why, death->place, death->step);
    /* What rounding made zero was not zero before, whatever the tensor is made of. */
    if (death->kind == HU_FAILURE_UNDERFLOW && cause != HU_CAUSE_GIVEN) return HU_CAUSE_MADE_HERE;
    /* Sums are counted where they are made. */
    return death->sums && cause == HU_CAUSE_NOT_COUNTED ? HU_CAUSE_MADE_HERE : cause;
}

/* Who made it; and the accumulator before its tensor, where it did. */
static void finish(const hu_why *why, hu_failure *death) {
    if (death->place == HU_NONE) return;
    death->cause = cause_of(why, death);
    hu_sums_suspect(why, death);
}

hu_status hu_why_create(const hu_run_record *run, hu_why *why) {
    hu_status st = HU_OK;
    const hu_history *history = run->history;
    *why = (hu_why){.history = history, .walk = &run->walk, .adders = &run->adders};
    HU_TRY(make_lists(why));
    HU_TRY(read_formats(why));
    find_names(why);
    why->skipped = history->skip_count;
    HU_TRY(hu_trouble_of_run(history, why->walk, &why->trouble));
    HU_TRY(hu_failures_find(why));
    find_death(why);
    finish(why, &why->death);
    finish(why, &why->end);
    HU_TRY(hu_propagated_find(why));
done:
    if (st != HU_OK) hu_why_free(why);
    return st;
}

void hu_why_free(hu_why *why) {
    hu_free(why->place);
    hu_free(why->tensor);
    hu_free(why->saturates);
    hu_free(why->rounds);
    hu_free(why->quantizer);
    hu_free(why->deaths);
    hu_free(why->is_gone);
    *why = (hu_why){0};
}
