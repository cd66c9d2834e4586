#include "journal/befall.h"

/* In the order of hu_befell. */
static const char *const names[HU_BEFALLINGS] = {"nan",       "infinity", "overflow", "saturation",
                                                 "underflow", "zero",     "update"};

const char *hu_befell_name(hu_befell event) {
    return names[event];
}

unsigned hu_befell_bits(const hu_round_counts *c, bool rounds) {
    unsigned events = 0;
    double elements = (double)c->elements;
    uint64_t nonzero = c->elements - c->nan - (c->zero - c->underflow);
    if (c->elements == 0) return 0;
    if (c->nan) events |= 1u << HU_BEFELL_NAN;
    if (c->overflow) events |= 1u << (rounds ? HU_BEFELL_OVERFLOW : HU_BEFELL_INFINITY);
    if (rounds && (double)c->overflow >= HU_EVENT_SATURATION * elements)
        events |= 1u << HU_BEFELL_SATURATION;
    if (c->underflow && (double)c->underflow >= HU_EVENT_UNDERFLOW * (double)nonzero)
        events |= 1u << HU_BEFELL_UNDERFLOW;
    if (c->zero == c->elements) events |= 1u << HU_BEFELL_ZERO;
    return events;
}

uint64_t hu_befell_count(const hu_round_counts *c, hu_befell event) {
    switch (event) {
    case HU_BEFELL_NAN:
        return c->nan;
    case HU_BEFELL_UNDERFLOW:
        return c->underflow;
    case HU_BEFELL_ZERO:
        return c->zero;
    case HU_BEFELL_UPDATE:
        return c->overflow + c->nan;
    default:
        return c->overflow;
    }
}
