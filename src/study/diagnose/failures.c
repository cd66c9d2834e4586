#include "diagnose/failures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "format/value.h"

/* ---- harm ---- */

/* How much of a tensor an event took: what kills it.
 *
 * Dead is a tensor all of whose numbers are zero, or of whose nonzero ones nearly all became zero;
 * of which half or more saturated; or that was NaN or infinite in a step that was done. Less than
 * that is a death only if the errors are a tenth of the tensor's sum of squares, and only in a run
 * that does not train well. Formats whose scale follows the numbers saturate by design: the scale
 * of a block is floor(log2 max) - emax (OCP MX 1.0, section 6.3), which is no death.
 */

/* Whether the mean of the last losses is so far below the first.
 *
 * The mean loss of the last steps that have one, against the first. */
static bool hu_trains_well(const hu_history *history) {
    enum { LAST = 3 };
    double first = (double)NAN, sum = 0.0;
    int count = 0;
    for (size_t m = 0; m < history->metrics_count && isnan(first); m++)
        first = history->metrics[m].loss;
    for (size_t m = history->metrics_count; m-- > 1 && count < LAST;) {
        if (!isfinite(history->metrics[m].loss)) continue;
        sum += history->metrics[m].loss;
        count++;
    }
    return count > 0 && sum / count <= (1.0 - HU_TRAINS_WELL) * first;
}

/* Exponents recorded while the event held; NULL: none. */
static const hu_exponents *recorded_while(const hu_why *why, const hu_failure *death) {
    int64_t recorded = -1;
    const hu_exponents *exponents =
        hu_why_exponents(why, death->place, death->event->last, &recorded);
    return recorded >= death->step ? exponents : NULL;
}

/* Numbers spread evenly over the binades first .. last. */
static void spread(hu_exponents *exponents, uint64_t count, int32_t first, int32_t last) {
    int32_t least = exponents->first, most = exponents->first + (int32_t)exponents->count - 1;
    if (first < least) first = least;
    if (last > most) last = most;
    if (last < first || count == 0) return;
    uint64_t bins = (uint64_t)(last - first) + 1;
    for (int32_t e = first; e <= last; e++) exponents->bin[e - least] += count / bins;
    exponents->bin[last - least] += count % bins;
}

/* What the counts of a step allow to say where no exponents were recorded. */
static hu_lost_squares guess_by_counts(const hu_round_counts *c, const hu_format *format) {
    enum { LEAST = -149, BINS = 277 };
    uint64_t bin[BINS] = {0};
    hu_exponents exponents = {.elements = c->elements, .first = LEAST, .count = BINS, .bin = bin};
    const hu_format_limits limits = hu_format_limits_of(format);
    int32_t least = hu_format_least_exponent(format);
    if (c->max_exponent == HU_NO_EXPONENT || c->min_exponent == HU_NO_EXPONENT)
        return (hu_lost_squares){0};
    int32_t top = c->max_exponent < limits.emax ? c->max_exponent : limits.emax;
    int32_t bottom = c->min_exponent > least ? c->min_exponent : least;
    spread(&exponents, c->overflow, limits.emax + 1, c->max_exponent);
    spread(&exponents, c->underflow, c->min_exponent, least - 1);
    spread(&exponents, c->elements - c->overflow - c->zero - c->nan, bottom, top);
    return hu_exponents_lost_squares(&exponents, format);
}

/* Share of the tensor's sum of squares that its rounding to a format without scale lost. */
static double squares_lost(const hu_why *why, const hu_failure *death) {
    const hu_quantizer *quantizer = &why->quantizer[death->event->format];
    const hu_exponents *exponents = recorded_while(why, death);
    hu_condition condition = hu_why_condition(why, death->place, death->step);
    hu_lost_squares lost = {0};
    if (quantizer->kind != HU_QUANTIZER_FLOAT || quantizer->scale != HU_SCALE_NONE) return 0.0;
    if (exponents)
        lost = hu_exponents_lost_squares(exponents, &quantizer->format);
    else if (condition.record)
        lost = guess_by_counts(&condition.record->counts, &quantizer->format);
    return death->kind == HU_FAILURE_SATURATION ? lost.overflow : lost.underflow;
}

static bool is_on_wire(const hu_why *why, uint32_t place) {
    hu_tensor_kind kind = why->walk->tensor[place].kind;
    return kind == HU_TENSOR_WIRE || kind == HU_TENSOR_WIRE_SUM;
}

/* 0: too little to be a death; else up to 1: the share of the numbers, or where that is smaller and
 * it was a part of them only, the share of the sum of squares that was lost. */
static double severity_weight(const hu_why *why, const hu_failure *death) {
    bool is_loss = death->kind == HU_FAILURE_SATURATION || death->kind == HU_FAILURE_UNDERFLOW;
    double enough = death->kind == HU_FAILURE_SATURATION ? HU_DEAD_SATURATION : HU_DEAD_UNDERFLOW;
    if (death->kind == HU_FAILURE_LOST)
        return why->trains_well && death->share < HU_DEAD_UNDERFLOW ? 0.0 : death->share;
    if (!is_loss) return 1.0;
    if (death->share >= enough) return death->share;
    if (why->trains_well) return 0.0;
    /* Scales of the wire are not recorded, so that its shares must do. */
    if (is_on_wire(why, death->place)) return death->share;
    double lost = squares_lost(why, death);
    return lost >= HU_DEAD_SQUARES ? lost : 0.0;
}

/* ---- sums ---- */

/* Accumulators as causes of death: products whose sums saturate, are flushed, or
 * do not move any more.
 *
 * Thresholds are shares of one counted step: of accumulators that rounded beyond the largest finite
 * number, of those that a format without subnormals flushed, and of terms of two nonzero factors
 * that changed nothing. Subnormal sums are kept, so that they count where they stall. Long sums of
 * trainings that go well ignore up to two thirds of their terms, the small ones: more than that is
 * a death only where a training that is long enough to tell does not go well, or has collapsed.
 */

double hu_sums_share(const hu_product_record *record, hu_failure_kind kind) {
    uint64_t count = kind == HU_FAILURE_SUMS_SATURATED ? record->overflow
                     : kind == HU_FAILURE_SUMS_FLUSHED ? record->subnormal
                     : kind == HU_FAILURE_SUMS_STALLED ? record->stalled
                                                       : 0;
    uint64_t of = kind == HU_FAILURE_SUMS_STALLED ? record->terms : record->values;
    return of ? (double)count / (double)of : 0.0;
}

static double threshold_of(const hu_why *why, hu_failure_kind kind) {
    bool is_long = hu_why_steps_done(why->history) >= HU_STEPS_TO_TELL;
    bool may_slow = why->history->collapsed || (!why->trains_well && is_long);
    return kind == HU_FAILURE_SUMS_SATURATED ? HU_SUMS_SATURATED
           : kind == HU_FAILURE_SUMS_FLUSHED ? HU_SUMS_FLUSHED
           : may_slow                        ? HU_SUMS_SLOWED
                                             : HU_SUMS_STALLED;
}

/* Whether the accumulator's format, after the colon of its name, flushes what is subnormal. */
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
static hu_failure death_of(const hu_why *why, uint32_t product, hu_failure_kind kind) {
    hu_failure death = {.kind = HU_FAILURE_NONE, .place = HU_NONE};
    int64_t counted = 0;
    for (size_t r = 0; r < why->history->numerics_count; r++) {
        const hu_numerics_record *row = &why->history->numerics[r];
        const hu_product_record *record = record_in(row, product);
        /* Sums of zeros, as dead factors make them, tell nothing of the accumulator. */
        if (!record || record->terms == 0) continue;
        counted += death.steps > 0 ? record->lines : 0;
        double share = hu_sums_share(record, kind);
        if (share < threshold_of(why, kind)) continue;
        if (kind == HU_FAILURE_SUMS_FLUSHED && !flushes(why->history, record)) continue;
        if (death.steps == 0) {
            death = (hu_failure){.kind = kind, .step = row->step, .sums = record};
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

/* The death of a product; false: it has none. What saturates or is flushed stalls too, so that it
 * is told first; the severity is the largest share of the three. The place is that of the tensor
 * that the product makes; after is not filled in. */
static bool hu_sums_failure(const hu_why *why, uint32_t product, hu_failure *death) {
    double most = 0.0;
    *death = (hu_failure){.kind = HU_FAILURE_NONE};
    for (int kind = HU_FAILURE_SUMS_SATURATED; kind <= HU_FAILURE_SUMS_STALLED; kind++) {
        hu_failure one = death_of(why, product, (hu_failure_kind)kind);
        if (one.kind == HU_FAILURE_NONE) continue;
        if (one.share > most) most = one.share;
        if (death->kind == HU_FAILURE_NONE) *death = one;
    }
    death->severity = most;
    death->place = place_of(why, why->history->products.name[product]);
    return death->kind != HU_FAILURE_NONE && death->place != HU_NONE;
}

/* ---- the first suspect ---- */

static bool has_gone_beyond(const hu_failure *death) {
    return death->kind == HU_FAILURE_NAN || death->kind == HU_FAILURE_INFINITY ||
           death->kind == HU_FAILURE_OVERFLOW || death->kind == HU_FAILURE_SATURATION ||
           death->kind == HU_FAILURE_EVALUATION;
}

/* What the sums of a counted step did that explains the death; HU_FAILURE_NONE: nothing. */
static hu_failure_kind explains(const hu_why *why, const hu_product_record *record,
                                const hu_failure *death) {
    hu_accumulator accumulator;
    const char *name = why->history->formats.name[record->accumulator];
    if (hu_accumulator_parse(name, &accumulator) != HU_OK) return HU_FAILURE_NONE;
    double saturated = hu_sums_share(record, HU_FAILURE_SUMS_SATURATED);
    double least = death->kind == HU_FAILURE_SATURATION ? HU_SUMS_SATURATED : 0.0;
    if (has_gone_beyond(death) && saturated > least && hu_adder_may_exceed(&accumulator))
        return HU_FAILURE_SUMS_SATURATED;
    if (death->kind != HU_FAILURE_ZERO || !hu_adder_may_vanish(&accumulator))
        return HU_FAILURE_NONE;
    if (flushes(why->history, record) &&
        hu_sums_share(record, HU_FAILURE_SUMS_FLUSHED) >= HU_SUMS_FLUSHED)
        return HU_FAILURE_SUMS_FLUSHED;
    bool stalls = hu_sums_share(record, HU_FAILURE_SUMS_STALLED) >= HU_SUMS_STALLED;
    return stalls ? HU_FAILURE_SUMS_STALLED : HU_FAILURE_NONE;
}

/* The counts of a step by the name of the product. */
static const hu_product_record *record_of(const hu_why *why, const char *product, int64_t step) {
    const hu_numerics_record *row = hu_why_row(why->history, step);
    uint32_t number = hu_names_find(&why->history->products, product);
    return row && number != HU_NAMES_NONE ? record_in(row, number) : NULL;
}

static void become_sums(const hu_why *why, const hu_product_record *record, hu_failure_kind kind,
                        hu_failure *death) {
    const char *product = why->history->products.name[record->product];
    death->adder = hu_adder_named(why->adders, product);
    death->sums = record;
    death->event = NULL;
    death->kind = kind;
    death->share = hu_sums_share(record, kind);
}

static bool may_be(const hu_adder *adder, const hu_failure *death) {
    return has_gone_beyond(death)
               ? hu_adder_may_exceed(&adder->accumulator)
               : death->kind == HU_FAILURE_ZERO && hu_adder_may_vanish(&adder->accumulator);
}

void hu_sums_suspect(const hu_why *why, hu_failure *death) {
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
        hu_failure_kind kind =
            record && record->terms ? explains(why, record, death) : HU_FAILURE_NONE;
        const hu_adder *adder = hu_adder_named(why->adders, name);
        if (kind != HU_FAILURE_NONE) {
            become_sums(why, record, kind, death);
            return;
        }
        /* An evaluation counts no sums. */
        bool is_untold = !record || death->kind == HU_FAILURE_EVALUATION;
        if (!death->adder && is_untold && adder && may_be(adder, death)) death->adder = adder;
    }
}

bool hu_sums_suspected(const hu_failure *death) {
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
static uint64_t terms_of(const hu_why *why, const hu_failure *death, const hu_round_counts *a,
                         const hu_round_counts *b) {
    hu_condition own = hu_why_condition(why, death->place, death->step);
    const hu_numerics_record *row = hu_why_row(why->history, death->step);
    uint64_t terms = a->elements < b->elements ? a->elements : b->elements;
    uint64_t sums = own.record && row && row->steps == 1 ? own.record->counts.elements : 0;
    if (death->sums && sums && death->sums->values / sums < terms)
        terms = death->sums->values / sums + (death->sums->values % sums > 0);
    return terms;
}

int32_t hu_sums_reach(const hu_why *why, const hu_failure *death) {
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
static double most_of(const hu_product_record *record, hu_failure_kind kind) {
    return kind == HU_FAILURE_SUMS_SATURATED ? record->most_overflow
           : kind == HU_FAILURE_SUMS_FLUSHED ? record->most_subnormal
                                             : record->most_stalled;
}

hu_worst_sums hu_sums_worst(const hu_why *why, hu_failure_kind kind) {
    hu_worst_sums worst = {0};
    for (size_t r = 0; r < why->history->numerics_count; r++) {
        const hu_numerics_record *row = &why->history->numerics[r];
        for (uint32_t p = 0; p < row->product_count; p++) {
            const hu_product_record *record = &row->product[p];
            double share = most_of(record, kind);
            if (record->terms == 0 || share <= worst.share) continue;
            if (kind == HU_FAILURE_SUMS_FLUSHED && !flushes(why->history, record)) continue;
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

/* ---- deaths ---- */

/* The deaths of a run (what is one: severity above), the worst first.
 *
 * Severity = weight of what was lost x how long it lasted x the share of tensors that are made of
 * it. What did not last is no death: it must hold in half of the steps from its first on. Before
 * its history is filled a delayed scale knows nothing, so what healed after that is none either.
 * Tensors that were promoted for what they lost are alive.
 */

/* The kind of an event by its word; HU_FAILURE_NONE for events that are no deaths. */
static hu_failure_kind kind_named(const char *name) {
    for (int kind = HU_FAILURE_NAN; kind <= HU_FAILURE_EVALUATION; kind++)
        if (strcmp(name, hu_failure_kind_name((hu_failure_kind)kind)) == 0)
            return (hu_failure_kind)kind;
    return HU_FAILURE_NONE;
}

/* ---- how long an event lasted ---- */

/* A tensor's counts in a row, NULL if the row has none. Rows list tensors in one order, so that the
 * place in the row before is a good guess. */
static const hu_tensor_record *record_near(const hu_numerics_record *row, uint32_t tensor,
                                           uint32_t *guess) {
    for (uint32_t i = 0; i < row->tensor_count; i++) {
        uint32_t at = (*guess + i) % row->tensor_count;
        if (row->tensor[at].tensor != tensor) continue;
        *guess = at;
        return &row->tensor[at];
    }
    return NULL;
}

/* Lines of a row that counted the updates of a tensor. */
static int64_t updates_in(const hu_numerics_record *row, uint32_t tensor) {
    for (uint32_t u = 0; u < row->update_count; u++)
        if (row->update[u].tensor == tensor) return row->update[u].lines;
    return 0;
}

/* Steps from the first one of an event on in which its tensor was counted. Tensors that are not
 * rounded are counted once in a line of the file; events of gradients are not told of skipped
 * steps. */
static int64_t counted_since(const hu_why *why, const hu_event_record *event, bool is_value) {
    int64_t counted = 0;
    uint32_t guess = 0;
    bool is_update = kind_named(event->kind) == HU_FAILURE_LOST;
    for (size_t r = 0; r < why->history->numerics_count; r++) {
        const hu_numerics_record *row = &why->history->numerics[r];
        if (row->step < event->step || (row->skipped && !is_value)) continue;
        if (is_update) counted += updates_in(row, event->tensor);
        const hu_tensor_record *record = record_near(row, event->tensor, &guess);
        if (!record || is_update) continue;
        int64_t since = row->step - event->step + 1;
        int64_t steps = row->steps < since ? row->steps : since;
        counted += why->rounds[record->format] ? steps : record->lines;
    }
    return counted;
}

/* Share of the steps in which it held; 1 where the rows do not tell. */
static double lasted(const hu_why *why, const hu_event_record *event, bool is_value) {
    int64_t counted = counted_since(why, event, is_value);
    if (event->steps == 0 || counted <= event->steps) return 1.0;
    return (double)event->steps / (double)counted;
}

static int64_t last_step(const hu_history *history) {
    return history->numerics_count ? history->numerics[history->numerics_count - 1].step : 0;
}

/* A delayed scale knows nothing in the first steps, and layer after layer must find its own. */
static bool has_healed(const hu_why *why, const hu_event_record *event) {
    const hu_quantizer *quantizer = &why->quantizer[event->format];
    return quantizer->kind == HU_QUANTIZER_FLOAT && quantizer->scale == HU_SCALE_DELAYED &&
           event->steps > 0 && event->step <= quantizer->history &&
           event->last < last_step(why->history);
}

/* ---- what lies after ---- */

/* Share of all tensors that are made of the one at a place, itself included. The walk lists every
 * tensor after all that it is made of. marked: [walk->count], overwritten. */
static double behind(const hu_tensor_order *walk, uint32_t place, bool *marked) {
    enum { ROOM = 64 };
    uint32_t source[ROOM], found = 1;
    memset(marked, 0, walk->count * sizeof *marked);
    marked[place] = true;
    for (uint32_t i = place + 1; i < walk->count; i++) {
        uint32_t count = hu_tensor_order_sources(walk, i, ROOM, source);
        for (uint32_t k = 0; k < count && k < ROOM && !marked[i]; k++)
            marked[i] = marked[source[k]];
        found += marked[i];
    }
    return (double)found / (double)walk->count;
}

/* ---- deaths ---- */

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

/* Losses of boxes reach the anchors that find one alone: a picture without boxes, and a map whose
 * anchors find none, have gradients that are zero as they should be. What rounding takes of others
 * is told as an underflow. */
static bool is_meant_to_be_zero(const hu_why *why, uint32_t place) {
    const hu_graph *graph = why->walk->graph;
    bool finds_boxes = false;
    if (why->walk->tensor[place].kind == HU_TENSOR_VALUE) return false;
    for (int k = 0; k < graph->loss_count; k++) {
        const hu_op *op = graph->node[graph->loss[k].node].op;
        finds_boxes |= op == &hu_op_ssd_loss || op == &hu_op_rpn_loss || op == &hu_op_roi_loss;
    }
    return finds_boxes;
}

/* Whether an event of that kind can be a death of that tensor at all. Non-finite numbers of skipped
 * steps are explained by the rows of these steps. */
static bool may_kill(const hu_why *why, const hu_event_record *event, hu_failure_kind kind,
                     uint32_t place) {
    bool is_lost = kind == HU_FAILURE_SATURATION || kind == HU_FAILURE_UNDERFLOW;
    if (is_lost && hu_why_is_loss_output(why, place)) return false;
    switch (kind) {
    case HU_FAILURE_SATURATION:
        /* Infinities end a step, which is told by what it ended with. */
        if (!why->saturates[event->format] && hu_history_was_skipped(why->history, event->step))
            return false;
        return hu_saturates_unasked(&why->quantizer[event->format]) &&
               !was_promoted(why->history, event);
    case HU_FAILURE_UNDERFLOW:
        return !hu_why_may_vanish(why, place);
    case HU_FAILURE_ZERO:
        return !hu_why_may_vanish(why, place) && !is_meant_to_be_zero(why, place);
    case HU_FAILURE_LOST:
        return !hu_why_is_vector(why, place);
    case HU_FAILURE_EVALUATION:
        return true;
    case HU_FAILURE_INFINITY:
    case HU_FAILURE_NAN:
        return !hu_history_was_skipped(why->history, event->step);
    default:
        return false;
    }
}

double hu_event_share(const hu_event_record *event) {
    uint64_t count = event->steps ? event->held : event->count;
    uint64_t of = event->steps ? event->could_be : event->elements;
    return of ? (double)count / (double)of : 0.0;
}

/* Whether an event is of a kind that kills its tensor, and lasted. Fills what it tells of itself.
 */
static bool take_event(const hu_why *why, const hu_event_record *event, hu_failure *death) {
    hu_failure_kind kind = kind_named(event->kind);
    uint32_t place = why->place[event->tensor];
    if (place == HU_NONE || !may_kill(why, event, kind, place) || has_healed(why, event))
        return false;
    *death = (hu_failure){.kind = kind,
                          .step = event->step,
                          .place = place,
                          .event = event,
                          .last = event->last,
                          .steps = event->steps};
    death->share = hu_event_share(event);
    bool is_value = why->walk->tensor[place].kind == HU_TENSOR_VALUE;
    death->lasted = lasted(why, event, is_value);
    return death->lasted >= HU_DEAD_LASTED;
}

/* Fills the death that an event is. False: it is none, or did too little harm. */
static bool take_death(const hu_why *why, const hu_event_record *event, bool *marked,
                       hu_failure *death) {
    if (!take_event(why, event, death)) return false;
    double weight = severity_weight(why, death);
    if (weight <= 0.0) return false;
    death->behind = behind(why->walk, death->place, marked);
    death->severity = weight * death->lasted * death->behind;
    return true;
}

static bool fail_sums(const hu_why *why, uint32_t product, hu_failure *death) {
    return hu_sums_failure(why, product, death) && death->lasted >= HU_DEAD_LASTED;
}

/* The same of the accumulators of a product. In a run that trains well most of them must be lost.
 */
static bool take_sums(const hu_why *why, uint32_t product, bool *marked, hu_failure *death) {
    if (!fail_sums(why, product, death)) return false;
    if (why->trains_well && death->severity < HU_DEAD_SATURATION) return false;
    death->behind = behind(why->walk, death->place, marked);
    death->severity *= death->lasted * death->behind;
    return true;
}

/* Keeps the worse of two deaths of one tensor; what is told first wins a tie. */
static void keep(hu_why *why, const hu_failure *death) {
    for (size_t d = 0; d < why->death_count; d++) {
        hu_failure *known = &why->deaths[d];
        if (known->place != death->place || !known->sums != !death->sums) continue;
        if (death->severity > known->severity) *known = *death;
        return;
    }
    why->deaths[why->death_count++] = *death;
}

/* The worst first; of equal ones the earlier, then the one that is made first. */
static int by_severity(const void *a, const void *b) {
    const hu_failure *x = a, *y = b;
    if (x->severity != y->severity) return x->severity > y->severity ? -1 : 1;
    if (x->step != y->step) return x->step < y->step ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

hu_status hu_failures_find(hu_why *why) {
    hu_status st = HU_OK;
    const hu_history *history = why->history;
    bool *marked = NULL;
    hu_failure death;
    HU_TRY(HU_NEW_ARRAY(&marked, (size_t)why->walk->count + 1));
    HU_TRY(HU_NEW_ARRAY(&why->deaths, history->event_count + history->products.count + 1));
    why->trains_well = hu_trains_well(history);
    for (size_t e = 0; e < history->event_count; e++)
        if (take_death(why, &history->events[e], marked, &death)) keep(why, &death);
    for (uint32_t p = 0; p < history->products.count; p++)
        if (take_sums(why, p, marked, &death)) keep(why, &death);
    qsort(why->deaths, why->death_count, sizeof *why->deaths, by_severity);
done:
    hu_free(marked);
    return st;
}

bool hu_failures_vanished(const hu_why *why, uint32_t place, int64_t step, hu_failure *death) {
    hu_failure one;
    *death = (hu_failure){.place = HU_NONE};
    for (size_t e = 0; e < why->history->event_count; e++) {
        const hu_event_record *event = &why->history->events[e];
        if (why->place[event->tensor] != place || event->step > step) continue;
        if (!take_event(why, event, &one)) continue;
        if (one.kind != HU_FAILURE_UNDERFLOW && one.kind != HU_FAILURE_ZERO) continue;
        if (one.share > death->share) *death = one;
    }
    return death->kind != HU_FAILURE_NONE;
}

bool hu_failures_lose_updates(const hu_why *why) {
    hu_failure death;
    for (size_t e = 0; e < why->history->event_count; e++)
        if (take_event(why, &why->history->events[e], &death) && death.kind == HU_FAILURE_LOST)
            return true;
    return false;
}

bool hu_failures_fail_sums(const hu_why *why) {
    hu_failure death;
    for (uint32_t p = 0; p < why->history->products.count; p++)
        if (fail_sums(why, p, &death)) return true;
    return false;
}

bool hu_failure_explains(const hu_failure *death, const hu_failure *end) {
    bool is_before = death->step != end->step ? death->step < end->step : death->place < end->place;
    return is_before && (death->kind == HU_FAILURE_ZERO || death->share >= HU_DEAD_SATURATION);
}

/* ---- followed ---- */

/* What followed a death: the tensors after it of which nothing is left. */

/* Whether nothing of it is left in the death's step. */
static bool is_all_zero(const hu_why *why, uint32_t place) {
    hu_condition condition = hu_why_condition(why, place, why->death.step);
    const hu_tensor_record *record = condition.record;
    return record && record->counts.elements > 0 &&
           record->counts.zero == record->counts.elements && !hu_why_may_vanish(why, place);
}

/* Whether it is made of one that is marked. */
static bool is_made_of(const hu_why *why, uint32_t place, const bool *marked) {
    enum { ROOM = 64 };
    uint32_t source[ROOM], count = hu_tensor_order_sources(why->walk, place, ROOM, source);
    for (uint32_t i = 0; i < count && i < ROOM; i++)
        if (marked[source[i]]) return true;
    return false;
}

static bool takes_numbers(const hu_failure *death) {
    return death->kind == HU_FAILURE_UNDERFLOW || death->kind == HU_FAILURE_ZERO;
}

/* The walk lists every tensor after all that it is made of. */
hu_status hu_propagated_find(hu_why *why) {
    hu_status st = HU_OK;
    bool *marked = NULL;
    HU_TRY(HU_NEW_ARRAY(&why->is_gone, (size_t)why->walk->count + 1));
    if (!takes_numbers(&why->death)) return HU_OK;
    HU_TRY(HU_NEW_ARRAY(&marked, (size_t)why->walk->count + 1));
    marked[why->death.place] = true;
    for (uint32_t i = why->death.place + 1; i < why->walk->count; i++) {
        marked[i] = is_made_of(why, i, marked);
        why->is_gone[i] = marked[i] && is_all_zero(why, i);
        why->gone += why->is_gone[i];
    }
done:
    hu_free(marked);
    return st;
}

bool hu_propagated_only(const hu_why *why, const hu_failure *death) {
    return death->kind == HU_FAILURE_ZERO && !death->sums && why->is_gone[death->place];
}

/* A gradient is told by the value that it does not reach. */
const char *hu_propagated_words(const hu_why *why, char text[HU_FOLLOWED_BYTES]) {
    char name[HU_TENSOR_NAME_BYTES], others[64] = "";
    uint32_t first = 0;
    text[0] = '\0';
    if (why->gone == 0) return text;
    while (!why->is_gone[first]) first++;
    const char *more = why->gone == 2 ? "" : "s";
    hu_tensor tensor = why->walk->tensor[first];
    hu_tensor_name(why->walk->graph, tensor, name);
    if (why->gone > 1)
        snprintf(others, sizeof others, " and %u tensor%s more behind it", why->gone - 1, more);
    bool is_gradient = tensor.kind != HU_TENSOR_VALUE && !hu_tensor_is_state(tensor);
    if (is_gradient)
        snprintf(text, HU_FOLLOWED_BYTES, "No gradient reaches %.200s: %.200s%s",
                 why->walk->graph->value[tensor.value].name, name, others);
    else
        snprintf(text, HU_FOLLOWED_BYTES, "Nothing reaches %.200s%s", name, others);
    hu_note_add(text, HU_FOLLOWED_BYTES, " ", "%s all zero.\n",
                why->gone > 1 || !is_gradient ? "are" : "is");
    return text;
}
