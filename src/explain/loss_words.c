#include "explain/loss_words.h"

#include <stdio.h>
#include <string.h>

#include "explain/sums.h"
#include "explain/wire.h"

/* A tensor that was not counted has no elements: its share is 0, not NaN. */
static double percent(uint64_t count, uint64_t elements) {
    return elements ? 100.0 * (double)count / (double)elements : 0.0;
}

/* What the tensor became that the sums are. */
static void tell_output(const hu_explaining *x, const hu_death *death, char *text) {
    char name[HU_TENSOR_NAME_BYTES];
    size_t used = strlen(text);
    hu_condition condition = hu_why_condition(&x->why, death->place, death->step);
    if (!condition.record) return;
    const hu_round_counts *c = &condition.record->counts;
    const hu_numerics_record *row = hu_why_row(x->run.history, death->step);
    if (!row || row->steps != 1) return;
    uint64_t lost = hu_why_nonfinite(&x->why, condition.record) ? c->overflow + c->nan : 0;
    bool is_zero = condition.kind == HU_DEATH_ZERO;
    if (lost || is_zero)
        snprintf(text + used, HU_LOSS_WORDS_BYTES - used, "; %llu of the %llu numbers of %s are %s",
                 (unsigned long long)(lost ? lost : c->zero), (unsigned long long)c->elements,
                 hu_fact_name(x, death->place, name), lost ? "infinite or NaN" : "zero");
}

/* Of the accumulators of a product. */
static void tell_sums(const hu_explaining *x, const hu_death *death, const char *format,
                      char text[HU_LOSS_WORDS_BYTES]) {
    double share = 100.0 * hu_sums_share(death->sums, death->kind);
    const char *words = death->kind == HU_DEATH_SUMS_SATURATED
                            ? "of its sums are too large for the accumulator"
                        : death->kind == HU_DEATH_SUMS_FLUSHED
                            ? "of its sums are too small for the accumulator and became zero"
                            : "of the terms changed nothing, though they were not zero: too small "
                              "beside the sum in the accumulator";
    snprintf(text, HU_LOSS_WORDS_BYTES, "%.3g %% %s %.80s", share, words, format);
    tell_output(x, death, text);
}

/* Of the numbers that were not zero before: zeros cannot be lost. Where a row adds up several
 * steps, the share of the nonzero ones is that of all steps in which the loss held. */
static void tell_underflow(const hu_death *death, const hu_round_counts *c, const char *format,
                           char text[HU_LOSS_WORDS_BYTES]) {
    unsigned long long n = c->elements;
    uint64_t nonzero = hu_nonzero_before(c);
    double of_all = percent(c->underflow, n);
    bool has_mean = nonzero == n && death->steps > 1 && death->share > of_all / 100.0 + 0.005;
    char share[96], mean[96] = "";
    if (nonzero == n)
        snprintf(share, sizeof share, "%.3g %% of its %llu numbers", of_all, n);
    else if (c->underflow == nonzero)
        snprintf(share, sizeof share,
                 "all of its nonzero numbers (%.3g %% of %llu; the rest was zero before)", of_all,
                 n);
    else
        snprintf(share, sizeof share, "%.3g %% of its nonzero numbers (%.3g %% of all %llu)",
                 percent(c->underflow, nonzero), of_all, n);
    if (has_mean)
        snprintf(mean, sizeof mean, ", %.3g %% of the nonzero ones in the mean of its steps",
                 100.0 * death->share);
    snprintf(text, HU_LOSS_WORDS_BYTES, "%s are too small for %.80s and became zero%s", share,
             format, mean);
}

/* What of how many numbers; empty for deaths of no kind. */
static void tell_kind(const hu_explaining *x, const hu_death *death, const hu_round_counts *c,
                      const char *format, char text[HU_LOSS_WORDS_BYTES]) {
    enum { ROOM = HU_LOSS_WORDS_BYTES };
    unsigned long long n = c->elements, lost = c->overflow;
    double overflow = percent(c->overflow, n);
    text[0] = '\0';
    switch (death->kind) {
    case HU_DEATH_NAN:
        snprintf(text, ROOM, "%.3g %% of its %llu numbers are NaN", percent(c->nan, n), n);
        break;
    case HU_DEATH_INFINITY:
        snprintf(text, ROOM, "%.3g %% of its %llu numbers are infinite%s", overflow, n,
                 death->adder ? "" : ": beyond float32, 2^128");
        break;
    case HU_DEATH_OVERFLOW:
        snprintf(text, ROOM, "%.3g %% of its %llu numbers are %s %.80s%s", overflow, n,
                 death->adder ? "infinite or NaN in" : "too large for", format,
                 death->adder ? "" : " and became infinite or NaN");
        break;
    case HU_DEATH_SATURATION:
        snprintf(text, ROOM, "%.3g %% of its %llu numbers are too large for %.80s", overflow, n,
                 format);
        break;
    case HU_DEATH_UNDERFLOW:
        tell_underflow(death, c, format, text);
        break;
    case HU_DEATH_ZERO:
        snprintf(text, ROOM, "all of its %llu numbers are zero", n);
        break;
    case HU_DEATH_UPDATE:
        snprintf(text, ROOM, "%llu of its %llu numbers are infinite or NaN behind the update", lost,
                 n);
        break;
    case HU_DEATH_LOST:
        snprintf(text, ROOM,
                 "%.3g %% of its %llu updates are lost: too small for %.80s, and there are no "
                 "master weights",
                 overflow, n, format);
        break;
    case HU_DEATH_EVALUATION:
        snprintf(text, ROOM, "%.3g %% of its %llu numbers are infinite or NaN in the evaluation",
                 overflow, n);
        break;
    case HU_DEATH_SUMS_SATURATED:
    case HU_DEATH_SUMS_FLUSHED:
    case HU_DEATH_SUMS_STALLED:
        tell_sums(x, death, format, text);
        break;
    default:
        break;
    }
}

const char *hu_loss_words(const hu_explaining *x, const hu_death *death, const hu_round_counts *c,
                          const char *format, char text[HU_LOSS_WORDS_BYTES]) {
    char magnitudes[HU_MAGNITUDES_BYTES];
    tell_kind(x, death, c, format, text);
    size_t used = strlen(text);
    if (c->nan && death->kind != HU_DEATH_NAN)
        snprintf(text + used, HU_LOSS_WORDS_BYTES - used, ", %llu are NaN",
                 (unsigned long long)c->nan);
    bool has_magnitudes = death->kind != HU_DEATH_ZERO && death->kind != HU_DEATH_LOST &&
                          death->kind != HU_DEATH_EVALUATION && !death->sums;
    if (!has_magnitudes) return text;
    used = strlen(text);
    snprintf(text + used, HU_LOSS_WORDS_BYTES - used, " (%s%s)",
             hu_is_on_wire(&x->run, death->place) ? "as sent: " : "",
             hu_magnitudes_words(c, magnitudes));
    return text;
}

const char *hu_magnitudes_words(const hu_round_counts *c, char text[HU_MAGNITUDES_BYTES]) {
    if (c->max_exponent == HU_NO_EXPONENT)
        snprintf(text, HU_MAGNITUDES_BYTES, "no nonzero finite numbers");
    else if (c->min_exponent == HU_NO_EXPONENT)
        snprintf(text, HU_MAGNITUDES_BYTES, "magnitudes up to 2^%d", c->max_exponent);
    else
        snprintf(text, HU_MAGNITUDES_BYTES, "magnitudes 2^%d .. 2^%d", c->min_exponent,
                 c->max_exponent);
    return text;
}

const char *hu_duration_words(const hu_death *death, char text[HU_MAGNITUDES_BYTES]) {
    text[0] = '\0';
    if (death->steps == 1)
        snprintf(text, HU_MAGNITUDES_BYTES, "in one step");
    else if (death->steps > 1)
        snprintf(text, HU_MAGNITUDES_BYTES, "in %lld %ssteps up to %lld", (long long)death->steps,
                 death->sums ? "counted " : "", (long long)death->last);
    return text;
}
