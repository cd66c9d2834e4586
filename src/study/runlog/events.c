#include "runlog/events.h"

#include <inttypes.h>

const char *hu_event_name(int event) {
    static const char *const names[HU_EVENTS] = {"nan",        "infinity",    "overflow",
                                                 "saturation", "underflow",   "zero",
                                                 "update",     "update lost", "evaluation"};
    return names[event];
}

/* Numbers that were not zero before they were rounded. */
static uint64_t nonzero_of(const hu_round_counts *c) {
    return c->elements - c->nan - (c->zero - c->underflow);
}

/* Of the numbers of the tensor. */
static unsigned events_of_rounding(const hu_round_counts *c, bool rounds) {
    unsigned events = 0;
    double elements = (double)c->elements;
    if (c->elements == 0) return 0;
    if (c->nan) events |= 1u << HU_EVENT_OF_NAN;
    if (c->overflow) events |= 1u << (rounds ? HU_EVENT_OF_OVERFLOW : HU_EVENT_OF_INFINITY);
    if (rounds && (double)c->overflow >= HU_EVENT_SATURATION * elements)
        events |= 1u << HU_EVENT_OF_SATURATION;
    if (c->underflow && (double)c->underflow >= HU_EVENT_UNDERFLOW * (double)nonzero_of(c))
        events |= 1u << HU_EVENT_OF_UNDERFLOW;
    if (c->zero == c->elements) events |= 1u << HU_EVENT_OF_ZERO;
    return events;
}

unsigned hu_events_of(const hu_event_counts *counts, bool rounds) {
    const hu_update_counts *update = &counts->update;
    bool is_lost = update->lost && (double)update->lost >= HU_EVENT_LOST * (double)update->asked;
    return events_of_rounding(&counts->rounding, rounds) | (is_lost ? 1u << HU_EVENT_OF_LOST : 0u);
}

uint64_t hu_event_count(const hu_event_counts *counts, int event) {
    const hu_round_counts *c = &counts->rounding;
    switch (event) {
    case HU_EVENT_OF_LOST:
        return counts->update.lost;
    case HU_EVENT_OF_EVALUATION:
    case HU_EVENT_OF_NAN:
        return c->nan;
    case HU_EVENT_OF_UNDERFLOW:
        return c->underflow;
    case HU_EVENT_OF_ZERO:
        return c->zero;
    case HU_EVENT_OF_UPDATE:
        return c->overflow + c->nan;
    default:
        return c->overflow;
    }
}

/* How many it could have befallen: of an underflow the nonzero ones, of lost updates those that
 * were not zero, else all. */
static uint64_t hu_event_most(const hu_event_counts *counts, int event) {
    if (event == HU_EVENT_OF_LOST) return counts->update.asked;
    return event == HU_EVENT_OF_UNDERFLOW ? nonzero_of(&counts->rounding)
                                          : counts->rounding.elements;
}

uint64_t hu_event_elements(const hu_event_counts *counts, int event) {
    return event == HU_EVENT_OF_LOST ? counts->update.asked : counts->rounding.elements;
}

/* ---- held ---- */

/* In how many steps the events of a tensor held, and how much they took: what the
 * list "held" of a row says (docs/reference/run-folder.md). */

void hu_event_duration_add(hu_event_duration *held, unsigned events, const hu_event_counts *counts,
                           int64_t step) {
    for (int e = 0; e < HU_EVENTS; e++) {
        if (!(events >> e & 1u)) continue;
        held[e].steps++;
        held[e].last = step;
        held[e].count += hu_event_count(counts, e);
        held[e].of += hu_event_most(counts, e);
    }
}

void hu_event_duration_write(hu_append *file, const char *name, const hu_event_duration *held,
                             bool *is_first) {
    for (int e = 0; e < HU_EVENTS; e++) {
        if (held[e].steps == 0) continue;
        hu_append_format(file,
                         "%s[\"%s\", \"%s\", %" PRIu64 ", %" PRId64 ", %" PRIu64 ", %" PRIu64 "]",
                         *is_first ? "" : ", ", name, hu_event_name(e), held[e].steps, held[e].last,
                         held[e].count, held[e].of);
        *is_first = false;
    }
}
