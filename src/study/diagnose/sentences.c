#include "diagnose/sentences.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "diagnose/failures.h"
#include "precision/precision.h"

/* ---- What a tensor lost, in words ---- */

/* A tensor that was not counted has no elements: its share is 0, not NaN. */
static double percent(uint64_t count, uint64_t elements) {
    return elements ? 100.0 * (double)count / (double)elements : 0.0;
}

/* What the tensor became that the sums are. */
static void tell_output(const hu_diagnosis *x, const hu_failure *death, char *text) {
    char name[HU_TENSOR_NAME_BYTES];
    hu_condition condition = hu_why_condition(&x->why, death->place, death->step);
    if (!condition.record) return;
    const hu_round_counts *c = &condition.record->counts;
    const hu_numerics_record *row = hu_why_row(x->run.history, death->step);
    if (!row || row->steps != 1) return;
    uint64_t lost = hu_why_nonfinite(&x->why, condition.record) ? c->overflow + c->nan : 0;
    bool is_zero = condition.kind == HU_FAILURE_ZERO;
    if (lost || is_zero)
        hu_note_add(text, HU_LOSS_WORDS_BYTES, "; ", "%llu of the %llu numbers of %s are %s",
                    (unsigned long long)(lost ? lost : c->zero), (unsigned long long)c->elements,
                    hu_fact_name(x, death->place, name), lost ? "infinite or NaN" : "zero");
}

/* Of the accumulators of a product. */
static void tell_sums(const hu_diagnosis *x, const hu_failure *death, const char *format,
                      char text[HU_LOSS_WORDS_BYTES]) {
    double share = 100.0 * hu_sums_share(death->sums, death->kind);
    const char *words = death->kind == HU_FAILURE_SUMS_SATURATED
                            ? "of its sums are too large for the accumulator"
                        : death->kind == HU_FAILURE_SUMS_FLUSHED
                            ? "of its sums are too small for the accumulator and became zero"
                            : "of the terms changed nothing, though they were not zero: too small "
                              "beside the sum in the accumulator";
    snprintf(text, HU_LOSS_WORDS_BYTES, "%.3g %% %s %.80s", share, words, format);
    tell_output(x, death, text);
}

/* Of the numbers that were not zero before: zeros cannot be lost. Where a row adds up several
 * steps, the share of the nonzero ones is that of all steps in which the loss held. */
static void tell_underflow(const hu_failure *death, const hu_round_counts *c, const char *format,
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

/* What else is beyond a format that has no sign. */
static const char *sign_words(const char *format) {
    hu_quantizer quantizer;
    bool is_unsigned = hu_quantizer_parse(format, HU_ROUND_NEAREST_EVEN, &quantizer) == HU_OK &&
                       hu_quantizer_is_unsigned(&quantizer);
    return is_unsigned ? ", which has no negative ones," : "";
}

/* What of how many numbers; empty for deaths of no kind. */
static void tell_kind(const hu_diagnosis *x, const hu_failure *death, const hu_round_counts *c,
                      const char *format, char text[HU_LOSS_WORDS_BYTES]) {
    enum { ROOM = HU_LOSS_WORDS_BYTES };
    unsigned long long n = c->elements, lost = c->overflow;
    double overflow = percent(c->overflow, n);
    text[0] = '\0';
    switch (death->kind) {
    case HU_FAILURE_NAN:
        snprintf(text, ROOM, "%.3g %% of its %llu numbers are NaN", percent(c->nan, n), n);
        break;
    case HU_FAILURE_INFINITY:
        snprintf(text, ROOM, "%.3g %% of its %llu numbers are infinite%s", overflow, n,
                 death->adder ? "" : ": beyond float32, 2^128");
        break;
    case HU_FAILURE_OVERFLOW:
        snprintf(text, ROOM, "%.3g %% of its %llu numbers are %s %.80s%s%s", overflow, n,
                 death->adder ? "infinite or NaN in" : "too large for", format,
                 death->adder ? "" : sign_words(format),
                 death->adder ? "" : " and became infinite or NaN");
        break;
    case HU_FAILURE_SATURATION:
        snprintf(text, ROOM, "%.3g %% of its %llu numbers are too large for %.80s%s", overflow, n,
                 format, sign_words(format));
        break;
    case HU_FAILURE_UNDERFLOW:
        tell_underflow(death, c, format, text);
        break;
    case HU_FAILURE_ZERO:
        snprintf(text, ROOM, "all of its %llu numbers are zero", n);
        break;
    case HU_FAILURE_UPDATE:
        snprintf(text, ROOM, "%llu of its %llu numbers are infinite or NaN behind the update", lost,
                 n);
        break;
    case HU_FAILURE_LOST:
        snprintf(text, ROOM,
                 "%.3g %% of its %llu updates are lost: too small for %.80s, and there are no "
                 "master weights",
                 overflow, n, format);
        break;
    case HU_FAILURE_EVALUATION:
        snprintf(text, ROOM, "%.3g %% of its %llu numbers are infinite or NaN in the evaluation",
                 overflow, n);
        break;
    case HU_FAILURE_SUMS_SATURATED:
    case HU_FAILURE_SUMS_FLUSHED:
    case HU_FAILURE_SUMS_STALLED:
        tell_sums(x, death, format, text);
        break;
    default:
        break;
    }
}

const char *hu_loss_words(const hu_diagnosis *x, const hu_failure *death, const hu_round_counts *c,
                          const char *format, char text[HU_LOSS_WORDS_BYTES]) {
    char magnitudes[HU_MAGNITUDES_BYTES];
    tell_kind(x, death, c, format, text);
    if (c->nan && death->kind != HU_FAILURE_NAN)
        hu_note_add(text, HU_LOSS_WORDS_BYTES, ", ", "%llu are NaN", (unsigned long long)c->nan);
    bool has_magnitudes = death->kind != HU_FAILURE_ZERO && death->kind != HU_FAILURE_LOST &&
                          death->kind != HU_FAILURE_EVALUATION && !death->sums;
    if (!has_magnitudes) return text;
    hu_note_add(text, HU_LOSS_WORDS_BYTES, " ", "(%s%s)",
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

const char *hu_duration_words(const hu_failure *death, char text[HU_MAGNITUDES_BYTES]) {
    text[0] = '\0';
    if (death->steps == 1)
        snprintf(text, HU_MAGNITUDES_BYTES, "in one step");
    else if (death->steps > 1)
        snprintf(text, HU_MAGNITUDES_BYTES, "in %lld %ssteps up to %lld", (long long)death->steps,
                 death->sums ? "counted " : "", (long long)death->last);
    return text;
}

/* ---- wire words ---- */

/* What `why` says of a tensor on its way between workers beyond what it says
 * of all: what its sums lost, and what could be changed.
 */

/* What the sums of a gradient lost; nothing where they were not counted. */
static void tell_wire_sums(const hu_run_record *run, const hu_why *why, uint32_t place,
                           int64_t step, char *text) {
    hu_tensor tensor = run->walk.tensor[place];
    uint32_t sums = run->walk.place[HU_TENSOR_WIRE_SUM][tensor.value];
    if (tensor.kind != HU_TENSOR_WIRE || sums == HU_NONE) return;
    hu_condition condition = hu_why_condition(why, sums, step);
    if (!condition.record) return;
    const hu_round_counts *c = &condition.record->counts;
    hu_note_add(
        text, HU_WIRE_WORDS_BYTES, "",
        "Its sums on the way lost %.3g %% of %llu numbers by overflow, %.3g %% by underflow; "
        "%.3g %% are NaN.\n",
        percent(c->overflow, c->elements), (unsigned long long)c->elements,
        percent(c->underflow, c->elements), percent(c->nan, c->elements));
}

static void tell_ways(const hu_wire_remedy *advice, char *text) {
    const hu_lost *lost = &advice->now.lost;
    if (advice->way[0]) hu_note_add(text, HU_WIRE_WORDS_BYTES, "", "The way: %s.\n", advice->way);
    if (advice->count == 0) return;
    if (advice->step < 0)
        hu_note_add(
            text, HU_WIRE_WORDS_BYTES, "",
            "To try (no exponents of the gradient were recorded up to that step, so that what "
            "scales and\nformats would lose is not known: run.histogram_every=):\n");
    else
        hu_note_add(
            text, HU_WIRE_WORDS_BYTES, "",
            "To try (by the exponents of the gradient at step %lld, of which this way loses "
            "%.3g %%):\n",
            (long long)advice->step, 100.0 * (lost->overflow.share + lost->underflow.share));
    for (int i = 0; i < advice->count; i++)
        hu_note_add(text, HU_WIRE_WORDS_BYTES, "", "  %-38s %s\n", advice->option[i].keys,
                    advice->option[i].effect);
}

const char *hu_wire_words(const hu_run_record *run, const hu_why *why, uint32_t place,
                          const hu_failure *death, char *text) {
    hu_wire_remedy advice;
    text[0] = '\0';
    if (!hu_is_on_wire(run, place)) return text;
    tell_wire_sums(run, why, place, death->step, text);
    if (death->kind == HU_FAILURE_NONE) return text;
    hu_wire_remedy_find(run, why, death, &advice);
    tell_ways(&advice, text);
    return text;
}

/* ---- state words ---- */

/* What `why` says of state of the optimizer beyond what it says of all.
 * Rules of precision do not reach such numbers: their formats are those of optimizer.state.
 */

const char *hu_state_words(const hu_diagnosis *x, const hu_failure *death, char *text) {
    char rule[HU_STATE_RULE_BYTES];
    text[0] = '\0';
    if (hu_fact_state_rule(x, death, rule))
        snprintf(text, HU_STATE_WORDS_BYTES,
                 "Its format is that of the key optimizer.state, in which a later rule wins; to "
                 "try: '%s' behind what it has.\n",
                 rule);
    return text;
}

/* ---- sums words ---- */

/* What is said of accumulators: of those that a death is of, or may be, and
 * of those of a run in which nothing died. */

/* ---- a death ---- */

/* Candidates whose largest power of two is beyond all sums. */
static void add_formats(const hu_diagnosis *x, int32_t reach, char *text) {
    bool is_any = false;
    for (int f = 0; f < x->run.candidates.count; f++) {
        if (hu_format_limits_of(&x->run.candidates.format[f]).emax < reach) continue;
        hu_note_add(text, HU_SUMS_WORDS_BYTES, "", "%s%s",
                    is_any ? ", " : "; accumulators that reach there: ", x->run.candidates.name[f]);
        is_any = true;
    }
    hu_note_add(text, HU_SUMS_WORDS_BYTES, "", is_any ? "" : "; no format tried reaches there");
}

const char *hu_sums_failure_words(const hu_diagnosis *x, const hu_failure *death,
                                  char text[HU_SUMS_WORDS_BYTES]) {
    enum { FLOAT32_TOP = 128 };
    text[0] = '\0';
    if (!death->adder) return text;
    if (!death->sums)
        hu_note_add(
            text, HU_SUMS_WORDS_BYTES, "",
            "%s adds in %s, which is the first suspect: its sums were not counted in that step\n"
            "(accumulator.count_every=1 counts those of every step).\n",
            death->adder->name, death->adder->text);
    if (death->kind == HU_FAILURE_ZERO || death->kind == HU_FAILURE_SUMS_FLUSHED ||
        death->kind == HU_FAILURE_SUMS_STALLED)
        return text;
    int32_t reach = hu_sums_reach(&x->why, death);
    if (reach == HU_NO_EXPONENT) return text;
    hu_note_add(text, HU_SUMS_WORDS_BYTES, "", "By the largest numbers of its factors ");
    if (reach > FLOAT32_TOP) {
        hu_note_add(text, HU_SUMS_WORDS_BYTES, "",
                    "its sums may be beyond float32, too: below 2^%d.\n", reach);
        return text;
    }
    hu_note_add(text, HU_SUMS_WORDS_BYTES, "", "its sums are below 2^%d, which float32 holds",
                reach);
    add_formats(x, reach, text);
    hu_note_add(text, HU_SUMS_WORDS_BYTES, "", ".\n");
    return text;
}

/* ---- a run ---- */

static void add_worst(const hu_diagnosis *x, hu_failure_kind kind, const char *words, char *text) {
    hu_worst_sums worst = hu_sums_worst(&x->why, kind);
    if (!worst.product) return;
    hu_note_add(text, HU_SUMS_WORDS_BYTES, "", "  %s (%.80s): %.3g %% %s (step %lld).\n",
                worst.product, worst.accumulator, 100.0 * worst.share, words,
                (long long)worst.step);
}

const char *hu_sums_run_words(const hu_diagnosis *x, char text[HU_SUMS_WORDS_BYTES]) {
    bool is_counted = hu_sums_are_counted(&x->why);
    text[0] = '\0';
    if (x->run.adders.count == 0 && !is_counted) return text;
    if (!is_counted) {
        hu_note_add(
            text, HU_SUMS_WORDS_BYTES, "",
            "Sums of %u products are made in accumulators of their own, which were not counted\n"
            "(accumulator.count_every=): whether they lost anything is not known.\n",
            (unsigned)x->run.adders.count);
        return text;
    }
    hu_note_add(text, HU_SUMS_WORDS_BYTES, "",
                "Sums of products, in the worst of the counted steps:\n");
    size_t head = strlen(text);
    add_worst(x, HU_FAILURE_SUMS_SATURATED, "were too large for the accumulator", text);
    add_worst(x, HU_FAILURE_SUMS_FLUSHED, "were too small for the accumulator and became zero",
              text);
    add_worst(x, HU_FAILURE_SUMS_STALLED, "of the terms changed nothing", text);
    if (text[head] == '\0') hu_note_add(text, HU_SUMS_WORDS_BYTES, "", "  none lost anything.\n");
    return text;
}
