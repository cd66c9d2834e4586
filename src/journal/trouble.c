#include "journal/trouble.h"

#include <stdio.h>
#include <string.h>

bool hu_tensor_is_vector(const hu_graph *graph, hu_tensor tensor) {
    const hu_value_info *value = &graph->value[tensor.value];
    return value->role == HU_VALUE_PARAMETER && value->shape.rank < 2;
}

/* Whether it is made of one that is marked. */
static bool is_made_of(const hu_walk *walk, uint32_t place, const bool *marked) {
    enum { ROOM = 64 };
    uint32_t source[ROOM], count = hu_walk_sources(walk, place, ROOM, source);
    for (uint32_t i = 0; i < count && i < ROOM; i++)
        if (marked[source[i]]) return true;
    return false;
}

/* The walk lists every tensor behind all that it is made of. */
void hu_trouble_of_tensors(const hu_walk *walk, const uint16_t *befallen, bool *marked,
                           hu_trouble *trouble) {
    trouble->lost = trouble->gone = 0;
    for (uint32_t i = 0; i < walk->count; i++) {
        bool is_vector = hu_tensor_is_vector(walk->graph, walk->tensor[i]);
        bool is_lost = !is_vector && befallen[i] & 1u << HU_EVENT_OF_UNDERFLOW;
        bool is_zero = !is_vector && befallen[i] & 1u << HU_EVENT_OF_ZERO;
        bool is_gone = !is_lost && is_zero && trouble->lost && is_made_of(walk, i, marked);
        marked[i] = is_lost || is_gone;
        trouble->lost += is_lost;
        trouble->gone += is_gone;
    }
}

bool hu_sums_are_in_trouble(const hu_accumulator *accumulator, double beyond, double subnormal,
                            double stalled) {
    bool flushes = !accumulator->format.subnormals;
    return beyond >= HU_SUMS_SATURATED || stalled >= HU_SUMS_STALLED ||
           (flushes && subnormal >= HU_SUMS_FLUSHED);
}

bool hu_is_in_trouble(const hu_trouble *trouble) {
    return trouble->lost + trouble->gone + trouble->sums > 0;
}

static void put_tensors(const hu_trouble *trouble, char *text) {
    bool is_one = trouble->lost == 1;
    int used =
        snprintf(text, HU_TROUBLE_BYTES, "%u tensor%s lost half of %s nonzero numbers or more",
                 trouble->lost, is_one ? "" : "s", is_one ? "its" : "their");
    if (trouble->gone)
        snprintf(text + used, HU_TROUBLE_BYTES - (size_t)used, ", %u behind %s %s all zero",
                 trouble->gone, is_one ? "it" : "them", trouble->gone == 1 ? "is" : "are");
}

const char *hu_trouble_words(const hu_trouble *trouble, char text[HU_TROUBLE_BYTES]) {
    text[0] = '\0';
    if (trouble->lost) put_tensors(trouble, text);
    size_t used = strlen(text);
    if (trouble->sums)
        snprintf(text + used, HU_TROUBLE_BYTES - used,
                 "%ssums of %u product%s overflowed, vanished or stopped growing in their "
                 "accumulator%s",
                 used ? "; " : "", trouble->sums, trouble->sums == 1 ? "" : "s",
                 trouble->sums == 1 ? "" : "s");
    return text;
}
