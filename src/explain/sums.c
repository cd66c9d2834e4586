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
    bool is_long = hu_why_steps_done(why->history) >= HU_STEPS_TO_TELL;
    bool may_slow = why->history->collapsed || (!why->trains_well && is_long);
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
    char text[HU_TENSOR_NAME_BYTES];
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const hu_node *node = &graph->node[n];
        for (int r = 0; r < HU_PRODUCT_ROLES && node->op->is_product; r++) {
            hu_made_by product = {n, (hu_product_role)r};
            if (strcmp(hu_product_name(graph, product, text), name) != 0) continue;
            hu_tensor makes = hu_product_makes(node, product.role);
            return why->walk->place[makes.kind][makes.value];
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
        counted += death.steps > 0 ? record->lines : 0;
        double share = hu_sums_share(record, kind);
        if (share < threshold_of(why, kind)) continue;
        if (kind == HU_DEATH_SUMS_FLUSHED && !flushes(why->history, record)) continue;
        if (death.steps == 0) {
            death = (hu_death){.kind = kind, .step = row->step, .sums = record};
            counted = record->lines;
        }
        death.steps += record->lines;
        death.last = row->step;
        death.share += share * record->lines;
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

/* ---- the first suspect ---- */

static bool has_gone_beyond(const hu_death *death) {
    return death->kind == HU_DEATH_NAN || death->kind == HU_DEATH_INFINITY ||
           death->kind == HU_DEATH_OVERFLOW || death->kind == HU_DEATH_SATURATION ||
           death->kind == HU_DEATH_EVALUATION;
}

/* What the sums of a counted step did that explains the death; HU_DEATH_NONE: nothing. */
static hu_death_kind explains(const hu_why *why, const hu_product_record *record,
                              const hu_death *death) {
    hu_accumulator accumulator;
    const char *name = why->history->formats.name[record->accumulator];
    if (hu_accumulator_parse(name, &accumulator) != HU_OK) return HU_DEATH_NONE;
    double saturated = hu_sums_share(record, HU_DEATH_SUMS_SATURATED);
    double least = death->kind == HU_DEATH_SATURATION ? HU_SUMS_SATURATED : 0.0;
    if (has_gone_beyond(death) && saturated > least && hu_adder_may_exceed(&accumulator))
        return HU_DEATH_SUMS_SATURATED;
    if (death->kind != HU_DEATH_ZERO || !hu_adder_may_vanish(&accumulator)) return HU_DEATH_NONE;
    if (flushes(why->history, record) &&
        hu_sums_share(record, HU_DEATH_SUMS_FLUSHED) >= HU_SUMS_FLUSHED)
        return HU_DEATH_SUMS_FLUSHED;
    bool stalls = hu_sums_share(record, HU_DEATH_SUMS_STALLED) >= HU_SUMS_STALLED;
    return stalls ? HU_DEATH_SUMS_STALLED : HU_DEATH_NONE;
}

/* The counts of a step by the name of the product. */
static const hu_product_record *record_of(const hu_why *why, const char *product, int64_t step) {
    const hu_numerics_record *row = hu_why_row(why->history, step);
    uint32_t number = hu_names_find(&why->history->products, product);
    return row && number != HU_NAMES_NONE ? record_in(row, number) : NULL;
}

static void become_sums(const hu_why *why, const hu_product_record *record, hu_death_kind kind,
                        hu_death *death) {
    const char *product = why->history->products.name[record->product];
    death->adder = hu_adder_named(why->adders, product);
    death->sums = record;
    death->event = NULL;
    death->kind = kind;
    death->share = hu_sums_share(record, kind);
}

static bool may_be(const hu_adder *adder, const hu_death *death) {
    return has_gone_beyond(death)
               ? hu_adder_may_exceed(&adder->accumulator)
               : death->kind == HU_DEATH_ZERO && hu_adder_may_vanish(&adder->accumulator);
}

void hu_sums_suspect(const hu_why *why, hu_death *death) {
    enum { ROOM = 16 };
    hu_made_by made[ROOM];
    const hu_graph *graph = why->walk->graph;
    char name[HU_TENSOR_NAME_BYTES];
    if (death->sums) {
        death->adder =
            hu_adder_named(why->adders, why->history->products.name[death->sums->product]);
        return;
    }
    if (death->cause == HU_CAUSE_INHERITED) return;
    uint32_t count = hu_made_by_products(graph, why->walk->tensor[death->place], ROOM, made);
    for (uint32_t i = 0; i < count && i < ROOM; i++) {
        const hu_product_record *record =
            record_of(why, hu_product_name(graph, made[i], name), death->step);
        hu_death_kind kind = record && record->terms ? explains(why, record, death) : HU_DEATH_NONE;
        const hu_adder *adder = hu_adder_named(why->adders, name);
        if (kind != HU_DEATH_NONE) {
            become_sums(why, record, kind, death);
            return;
        }
        /* An evaluation counts no sums. */
        bool is_untold = !record || death->kind == HU_DEATH_EVALUATION;
        if (!death->adder && is_untold && adder && may_be(adder, death)) death->adder = adder;
    }
}

bool hu_sums_suspected(const hu_death *death) {
    return death->place != HU_NONE && (death->sums || death->adder);
}

/* ---- how large sums may be ---- */

/* The record of the tensor that a backward part reads: the sum of gradients where there is one. */
static const hu_round_counts *counts_at(const hu_why *why, hu_tensor_kind kind, hu_value_id value,
                                        int64_t step) {
    uint32_t place = why->walk->place[kind][value];
    if (place == HU_NONE) return NULL;
    hu_condition condition = hu_why_condition(why, place, step);
    return condition.record ? &condition.record->counts : NULL;
}

static const hu_round_counts *counts_of_gradient(const hu_why *why, hu_value_id value,
                                                 int64_t step) {
    const hu_round_counts *sum = counts_at(why, HU_TENSOR_SUM, value, step);
    return sum ? sum : counts_at(why, HU_TENSOR_GRADIENT, value, step);
}

/* No number is used twice in a sum, so that it has no more terms than either factor has numbers. */
static uint64_t terms_of(const hu_why *why, const hu_death *death, const hu_round_counts *a,
                         const hu_round_counts *b) {
    hu_condition own = hu_why_condition(why, death->place, death->step);
    const hu_numerics_record *row = hu_why_row(why->history, death->step);
    uint64_t terms = a->elements < b->elements ? a->elements : b->elements;
    uint64_t sums = own.record && row && row->steps == 1 ? own.record->counts.elements : 0;
    if (death->sums && sums && death->sums->values / sums < terms)
        terms = death->sums->values / sums + (death->sums->values % sums > 0);
    return terms;
}

int32_t hu_sums_reach(const hu_why *why, const hu_death *death) {
    const hu_round_counts *a, *b;
    if (!death->adder) return HU_NO_EXPONENT;
    const hu_node *node = &why->walk->graph->node[death->adder->product.node];
    hu_product_role role = death->adder->product.role;
    hu_value_id second = role == HU_PRODUCT_WEIGHT_GRAD ? node->in[0] : hu_node_second_factor(node);
    a = role == HU_PRODUCT_FORWARD ? counts_at(why, HU_TENSOR_VALUE, node->in[0], death->step)
                                   : counts_of_gradient(why, node->out[0], death->step);
    b = counts_at(why, HU_TENSOR_VALUE, second, death->step);
    if (!a || !b || a->max_exponent == HU_NO_EXPONENT || b->max_exponent == HU_NO_EXPONENT)
        return HU_NO_EXPONENT;
    int32_t reach = a->max_exponent + b->max_exponent + 2;
    for (uint64_t terms = terms_of(why, death, a, b); terms > 1; terms = (terms + 1) / 2) reach++;
    return reach;
}

/* ---- the worst of a run ---- */

/* The largest share of a kind in a step. */
static double most_of(const hu_product_record *record, hu_death_kind kind) {
    return kind == HU_DEATH_SUMS_SATURATED ? record->most_overflow
           : kind == HU_DEATH_SUMS_FLUSHED ? record->most_subnormal
                                           : record->most_stalled;
}

hu_worst_sums hu_sums_worst(const hu_why *why, hu_death_kind kind) {
    hu_worst_sums worst = {0};
    for (size_t r = 0; r < why->history->numerics_count; r++) {
        const hu_numerics_record *row = &why->history->numerics[r];
        for (uint32_t p = 0; p < row->product_count; p++) {
            const hu_product_record *record = &row->product[p];
            double share = most_of(record, kind);
            if (record->terms == 0 || share <= worst.share) continue;
            if (kind == HU_DEATH_SUMS_FLUSHED && !flushes(why->history, record)) continue;
            worst = (hu_worst_sums){.product = why->history->products.name[record->product],
                                    .accumulator = why->history->formats.name[record->accumulator],
                                    .share = share,
                                    .step = row->step};
        }
    }
    return worst;
}

bool hu_sums_are_counted(const hu_why *why) {
    for (size_t r = 0; r < why->history->numerics_count; r++)
        if (why->history->numerics[r].product_count) return true;
    return false;
}
