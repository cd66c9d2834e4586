#include "explain/harm.h"

#include <math.h>

#include "format/value.h"

/* The mean loss of the last steps that have one, against the first. */
bool hu_trains_well(const hu_history *history) {
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
static const hu_exponents *recorded_while(const hu_why *why, const hu_death *death) {
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
static double squares_lost(const hu_why *why, const hu_death *death) {
    const hu_quantizer *quantizer = &why->quantizer[death->event->format];
    const hu_exponents *exponents = recorded_while(why, death);
    hu_condition condition = hu_why_condition(why, death->place, death->step);
    hu_lost_squares lost = {0};
    if (quantizer->kind != HU_QUANTIZER_FLOAT || quantizer->scale != HU_SCALE_NONE) return 0.0;
    if (exponents)
        lost = hu_exponents_lost_squares(exponents, &quantizer->format);
    else if (condition.record)
        lost = guess_by_counts(&condition.record->counts, &quantizer->format);
    return death->kind == HU_DEATH_SATURATION ? lost.overflow : lost.underflow;
}

static bool is_on_wire(const hu_why *why, uint32_t place) {
    hu_tensor_kind kind = why->walk->tensor[place].kind;
    return kind == HU_TENSOR_WIRE || kind == HU_TENSOR_WIRE_SUM;
}

double hu_harm_weight(const hu_why *why, const hu_death *death) {
    bool is_loss = death->kind == HU_DEATH_SATURATION || death->kind == HU_DEATH_UNDERFLOW;
    double enough = death->kind == HU_DEATH_SATURATION ? HU_DEAD_SATURATION : HU_DEAD_UNDERFLOW;
    if (death->kind == HU_DEATH_LOST)
        return why->trains_well && death->share < HU_DEAD_UNDERFLOW ? 0.0 : death->share;
    if (!is_loss) return 1.0;
    if (death->share >= enough) return death->share;
    if (why->trains_well) return 0.0;
    /* Scales of the wire are not recorded, so that its shares must do. */
    if (is_on_wire(why, death->place)) return death->share;
    double lost = squares_lost(why, death);
    return lost >= HU_DEAD_SQUARES ? lost : 0.0;
}
