#include "runlog/events.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "runlog/row_columns.h"

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
static uint64_t event_most(const hu_event_counts *counts, int event) {
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
        held[e].of += event_most(counts, e);
    }
}

void hu_event_duration_write(hu_append *file, const char *name, const hu_event_duration *held,
                             bool *is_first) {
    for (int e = 0; e < HU_EVENTS; e++) {
        if (held[e].steps == 0) continue;
        const hu_held_row row = {.kind = hu_event_name(e),
                                 .steps = (int64_t)held[e].steps,
                                 .last = held[e].last,
                                 .count = held[e].count,
                                 .of = held[e].of};
        hu_row_write(file, *is_first ? "" : ", ", &hu_row_held, &name, &row);
        *is_first = false;
    }
}

/* ---- Trouble ---- */

bool hu_parameter_is_vector(const hu_value_info *value) {
    return value->role == HU_VALUE_PARAMETER && value->shape.rank < 2;
}

bool hu_tensor_is_vector(const hu_graph *graph, hu_tensor tensor) {
    return hu_parameter_is_vector(&graph->value[tensor.value]);
}

/* Whether it is made of one that is marked. */
static bool is_made_of(const hu_tensor_order *walk, uint32_t place, const bool *marked) {
    enum { ROOM = 64 };
    uint32_t source[ROOM], count = hu_tensor_order_sources(walk, place, ROOM, source);
    for (uint32_t i = 0; i < count && i < ROOM; i++)
        if (marked[source[i]]) return true;
    return false;
}

/* The walk lists every tensor after all that it is made of. */
void hu_trouble_of_tensors(const hu_tensor_order *walk, const uint16_t *befallen, bool *marked,
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
    snprintf(text, HU_TROUBLE_BYTES, "%u tensor%s lost half of %s nonzero numbers or more",
             trouble->lost, is_one ? "" : "s", is_one ? "its" : "their");
    if (trouble->gone)
        hu_note_add(text, HU_TROUBLE_BYTES, ", ", "%u behind %s %s all zero", trouble->gone,
                    is_one ? "it" : "them", trouble->gone == 1 ? "is" : "are");
}

const char *hu_trouble_words(const hu_trouble *trouble, char text[HU_TROUBLE_BYTES]) {
    text[0] = '\0';
    if (trouble->lost) put_tensors(trouble, text);
    const char *more = trouble->sums == 1 ? "" : "s";
    if (trouble->sums)
        hu_note_add(text, HU_TROUBLE_BYTES, "; ",
                    "sums of %u product%s overflowed, vanished or stopped growing in their "
                    "accumulator%s",
                    trouble->sums, more, more);
    return text;
}

/* ---- counted ---- */

/* What only some steps count: the lists "products" and "updates" of a row
 * (docs/reference/run-folder.md). Each is left out where the present step has not counted it. */

static void write_product(hu_append *file, const char *layer, const hu_node_products *products,
                          int role, const char *before) {
    char text[128] = "", name[HU_NAME_BYTES + 32];
    const char *const names[] = {name, text};
    const hu_gemm_counts *c = &products->counts[role];
    const hu_product_record record = {.values = c->values,
                                      .subnormal = c->subnormal,
                                      .overflow = c->overflow,
                                      .terms = c->terms,
                                      .stalled = c->stalled};
    hu_accumulator_print(&products->accumulation.accumulator[role], text, sizeof text);
    snprintf(name, sizeof name, "%s.%s", layer, hu_product_role_name((hu_product_role)role));
    hu_row_write(file, before, &hu_row_products, names, &record);
}

void hu_product_counts_write(hu_append *file, const hu_graph *graph, const hu_edge_table *edges) {
    bool is_first = true;
    for (uint32_t n = 0; n < edges->node_count; n++)
        for (int role = 0; role < HU_PRODUCT_ROLES; role++) {
            char layer[HU_NAME_BYTES];
            if (edges->products[n].counts[role].values == 0) continue;
            hu_graph_layer_name(graph, &graph->node[n], layer);
            write_product(file, layer, &edges->products[n], role,
                          is_first ? ", \"products\": [" : ", ");
            is_first = false;
        }
    if (!is_first) hu_append_text(file, "]");
}

static bool is_in_trouble(const hu_node_products *products, int role) {
    const hu_gemm_counts *c = &products->counts[role];
    if (c->values == 0 || c->terms == 0) return false;
    double values = (double)c->values;
    return hu_sums_are_in_trouble(&products->accumulation.accumulator[role],
                                  (double)c->overflow / values, (double)c->subnormal / values,
                                  (double)c->stalled / (double)c->terms);
}

bool hu_product_counts_trouble(const hu_edge_table *edges, uint8_t *failed) {
    bool is_new = false;
    for (uint32_t n = 0; n < edges->node_count; n++)
        for (int role = 0; role < HU_PRODUCT_ROLES; role++) {
            uint8_t *mark = &failed[n * HU_PRODUCT_ROLES + (uint32_t)role];
            if (*mark || !is_in_trouble(&edges->products[n], role)) continue;
            *mark = 1;
            is_new = true;
        }
    return is_new;
}

void hu_update_counts_write(hu_append *file, const hu_graph *graph, const hu_edge_table *edges) {
    bool is_first = true;
    for (hu_value_id v = 0; v < edges->value_count; v++) {
        const hu_update_counts *update = &edges->value[v].update;
        if (update->asked == 0) continue;
        const char *name = graph->value[v].name;
        const hu_update_record record = {
            .asked = update->asked, .lost = update->lost, .small = update->small};
        hu_row_write(file, is_first ? ", \"updates\": [" : ", ", &hu_row_updates, &name, &record);
        is_first = false;
    }
    if (!is_first) hu_append_text(file, "]");
}
