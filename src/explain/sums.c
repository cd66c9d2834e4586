#include "explain/sums.h"

#include <stdio.h>
#include <string.h>

#include "explain/harm.h"

double hu_sums_share(const hu_product_record *record, hu_death_kind kind) {
    uint64_t count = kind == HU_DEATH_SUMS_SATURATED ? record->overflow
                     : kind == HU_DEATH_SUMS_FLUSHED ? record->subnormal
                     : kind == HU_DEATH_SUMS_STALLED ? record->stalled
                                                     : 0;
    uint64_t of = kind == HU_DEATH_SUMS_STALLED ? record->terms : record->values;
    return of ? (double)count / (double)of : 0.0;
}

static double threshold_of(const hu_why *why, hu_death_kind kind) {
    bool may_slow = !why->trains_well && hu_why_steps_done(why->history) >= HU_STEPS_TO_TELL;
    return kind == HU_DEATH_SUMS_SATURATED ? HU_SUMS_SATURATED
           : kind == HU_DEATH_SUMS_FLUSHED ? HU_SUMS_FLUSHED
           : may_slow                      ? HU_SUMS_SLOWED
                                           : HU_SUMS_STALLED;
}

/* Whether the accumulator's format, behind the colon of its name, flushes what is subnormal. */
static bool flushes(const hu_history *history, const hu_product_record *record) {
    hu_accumulator accumulator;
    const char *name = history->formats.name[record->accumulator];
    return hu_accumulator_parse(name, &accumulator) == HU_OK && !accumulator.format.subnormals;
}

/* The tensor that a product of this name makes, HU_NONE: there is none. */
static uint32_t place_of(const hu_why *why, const char *name) {
    const hu_graph *graph = why->walk->graph;
    char layer[HU_NAME_BYTES], text[HU_NAME_BYTES + 32];
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const hu_node *node = &graph->node[n];
        hu_graph_layer_name(graph, node, layer);
        for (int role = 0; role < HU_PRODUCT_ROLES && node->op->is_product; role++) {
            snprintf(text, sizeof text, "%s.%s", layer,
                     hu_product_role_name((hu_product_role)role));
            if (strcmp(text, name) != 0) continue;
            if (role == HU_PRODUCT_FORWARD) return why->walk->place[HU_TENSOR_VALUE][node->out[0]];
            hu_value_id of =
                role == HU_PRODUCT_INPUT_GRAD ? node->in[0] : hu_node_second_factor(node);
            return why->walk->place[HU_TENSOR_GRADIENT][of];
        }
    }
    return HU_NONE;
}

/* A product's counts in a row, NULL: it has none. */
static const hu_product_record *record_in(const hu_numerics_record *row, uint32_t product) {
    for (uint32_t p = 0; p < row->product_count; p++)
        if (row->product[p].product == product) return &row->product[p];
    return NULL;
}

/* Goes through the counted steps. */
static hu_death death_of(const hu_why *why, uint32_t product, hu_death_kind kind) {
    hu_death death = {.kind = HU_DEATH_NONE, .place = HU_NONE};
    int64_t counted = 0;
    for (size_t r = 0; r < why->history->numerics_count; r++) {
        const hu_numerics_record *row = &why->history->numerics[r];
        const hu_product_record *record = record_in(row, product);
        /* Sums of zeros, as dead factors make them, tell nothing of the accumulator. */
        if (!record || record->terms == 0) continue;
        counted += death.steps > 0;
        double share = hu_sums_share(record, kind);
        if (share < threshold_of(why, kind)) continue;
        if (kind == HU_DEATH_SUMS_FLUSHED && !flushes(why->history, record)) continue;
        if (death.steps == 0) {
            death = (hu_death){.kind = kind, .step = row->step, .sums = record};
            counted = 1;
        }
        death.steps++;
        death.last = row->step;
        death.share += share;
    }
    if (death.steps == 0) return death;
    death.share /= (double)death.steps;
    death.lasted = (double)death.steps / (double)counted;
    return death;
}

bool hu_sums_death(const hu_why *why, uint32_t product, hu_death *death) {
    double most = 0.0;
    *death = (hu_death){.kind = HU_DEATH_NONE};
    for (int kind = HU_DEATH_SUMS_SATURATED; kind <= HU_DEATH_SUMS_STALLED; kind++) {
        hu_death one = death_of(why, product, (hu_death_kind)kind);
        if (one.kind == HU_DEATH_NONE) continue;
        if (one.share > most) most = one.share;
        if (death->kind == HU_DEATH_NONE) *death = one;
    }
    death->severity = most;
    death->place = place_of(why, why->history->products.name[product]);
    return death->kind != HU_DEATH_NONE && death->place != HU_NONE;
}
