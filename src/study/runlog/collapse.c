#include "runlog/collapse.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "runlog/history.h"
#include "runlog/result.h"
#include "tensor/exponent_histogram.h"

/* ---- largest ---- */

/* The largest gradients of a recorded run, and the loss scales that they leave
 * room for. */

static void offer(hu_largest *largest, double magnitude, bool is_bound, int64_t step) {
    if (!(magnitude > largest->magnitude)) return;
    *largest = (hu_largest){magnitude, is_bound, step};
}

/* The end of a binade, which its numbers do not reach. */
static double bound_of(int32_t exponent) {
    return ldexp(1.0, exponent + 1) * (1.0 - 0x1p-24);
}

/* Tensors that are not rounded are counted where histograms are taken, and in some steps beside:
 * these matter where they reach another binade. */
static void search_rows(const hu_history *history, uint32_t tensor, hu_largest *largest) {
    for (size_t r = 0; r < history->numerics_count; r++) {
        const hu_numerics_record *row = &history->numerics[r];
        for (uint32_t i = 0; i < row->tensor_count && !row->skipped; i++) {
            const hu_tensor_record *record = &row->tensor[i];
            int32_t exponent = record->counts.max_exponent;
            if (record->tensor != tensor || exponent == HU_NO_EXPONENT) continue;
            double bound = bound_of(exponent) / hu_history_loss_scale(history, row->step);
            bool rounds = strcmp(history->formats.name[record->format], "float32") != 0;
            if (!rounds && largest->magnitude > 0.0 && ilogb(bound) <= ilogb(largest->magnitude))
                continue;
            offer(largest, bound, true, row->step);
        }
    }
}

static void search_histograms(const hu_history *history, uint32_t tensor, hu_largest *largest) {
    for (size_t r = 0; r < history->histogram_count; r++) {
        const hu_histogram_record *record = &history->histograms[r];
        for (uint32_t i = 0; i < record->count; i++) {
            const hu_exponents *x = &record->tensor[i].exponents;
            int32_t top = hu_exponents_top(x);
            if (record->tensor[i].tensor != tensor || top == HU_NO_EXPONENT) continue;
            if (hu_history_was_skipped(history, record->step)) continue;
            bool is_known = x->largest > 0.0;
            offer(largest,
                  (is_known ? x->largest : bound_of(top)) /
                      hu_history_loss_scale(history, record->step),
                  !is_known, record->step);
        }
    }
}

void hu_history_largest(const hu_history *history, const hu_tensor_order *walk,
                        hu_largest largest[HU_LARGEST_KINDS]) {
    char name[HU_TENSOR_NAME_BYTES];
    memset(largest, 0, HU_LARGEST_KINDS * sizeof *largest);
    for (uint32_t t = 0; t < walk->count; t++) {
        const hu_value_info *value = &walk->graph->value[walk->tensor[t].value];
        bool is_parameter = value->role == HU_VALUE_PARAMETER;
        if (walk->tensor[t].kind != HU_TENSOR_GRADIENT || !hu_is_rounded_kind(value)) continue;
        hu_tensor_name(walk->graph, walk->tensor[t], name);
        uint32_t tensor = hu_names_find(&history->tensors, name);
        if (tensor == HU_NAMES_NONE) continue;
        hu_largest *kind = &largest[is_parameter ? HU_LARGEST_PARAMETER : HU_LARGEST_ACT];
        search_histograms(history, tensor, kind);
        search_rows(history, tensor, kind);
    }
}

hu_largest hu_largest_of_all(const hu_largest largest[HU_LARGEST_KINDS]) {
    const hu_largest *act = &largest[HU_LARGEST_ACT], *rest = &largest[HU_LARGEST_PARAMETER];
    return act->magnitude >= rest->magnitude ? *act : *rest;
}

/* ---- collapse ---- */

/* Worse than half of the best; a NaN always is. Without a best there is nothing to fall from. */
static bool is_fallen(const hu_metric *metric, double value, double best) {
    if (!(best > 0.0)) return false;
    bool holds = metric->higher_is_better ? value >= best / 2.0 : value <= 2.0 * best;
    return !holds;
}

static double best_of(const hu_metric *metric, const double *test, size_t count) {
    double best = (double)NAN;
    for (size_t i = 0; i < count; i++)
        if (hu_metric_is_better(metric, test[i], best)) best = test[i];
    return best;
}

/* Evaluations at the end that are all fallen. */
static size_t count_fallen(const hu_metric *metric, const double *test, size_t count, double best) {
    size_t fallen = 0;
    while (fallen < count && is_fallen(metric, test[count - 1 - fallen], best)) fallen++;
    return fallen;
}

/* Standard deviations within which a metric is what a guess gives. */
enum { DEVIATIONS = 2 };

static bool is_chance(const hu_chance *chance, double value) {
    if (chance->samples == 0) return false;
    return !(value > chance->value + DEVIATIONS * hu_chance_deviation(chance, chance->value));
}

bool hu_collapsed(const hu_metric *metric, const hu_chance *chance, const double *test,
                  size_t count, char reason[HU_COLLAPSE_BYTES]) {
    enum { PARTS = 3 };
    char words[HU_METRIC_TEXT_BYTES], last[HU_METRIC_TEXT_BYTES], other[HU_METRIC_TEXT_BYTES];
    reason[0] = '\0';
    if (count == 0) return false;
    double end = test[count - 1], best = best_of(metric, test, count);
    size_t fallen = count_fallen(metric, test, count, best), third = (count + PARTS - 1) / PARTS;
    hu_metric_words(metric, words);
    hu_metric_text(metric, end, last);
    if (count >= PARTS && fallen >= third) {
        snprintf(reason, HU_COLLAPSE_BYTES,
                 "%s was %s at best and ended at %s, %s that in the last %zu of %zu evaluations",
                 words, hu_metric_text(metric, best, other), last,
                 metric->higher_is_better ? "less than half of" : "more than twice", fallen, count);
        return true;
    }
    if (!is_chance(chance, end)) return false;
    /* Below it lies what was learned wrongly, or is no number. */
    bool is_level = chance->value - end <= DEVIATIONS * hu_chance_deviation(chance, chance->value);
    snprintf(reason, HU_COLLAPSE_BYTES,
             "%s ended at %s%s; a guess gives %s of %lld samples, give or take %.2g%s", words,
             is_level ? "guessing level, " : "", last, hu_metric_text(metric, chance->value, other),
             (long long)chance->samples,
             metric->factor * hu_chance_deviation(chance, chance->value), metric->unit);
    return true;
}

/* Evaluations among the rows: of the held-out samples if is_held says so, else of the test ones. */
static size_t take(const hu_history *history, bool is_held, double *test) {
    size_t count = 0;
    for (size_t i = 0; i < history->metrics_count; i++) {
        const hu_metrics_record *row = &history->metrics[i];
        double value = is_held ? row->validation_metric : row->test_metric;
        if (!isnan(value)) test[count++] = value;
    }
    return count;
}

hu_status hu_collapse_read(const char *folder, const hu_metric *metric, const hu_chance *chance,
                           char reason[HU_COLLAPSE_BYTES]) {
    hu_history *history = NULL;
    double *test = NULL;
    size_t count = 0;
    hu_status st;
    reason[0] = '\0';
    HU_TRY(hu_history_read_metrics(folder, &history));
    HU_TRY(HU_NEW_ARRAY(&test, history->metrics_count + 1));
    count = take(history, true, test);
    if (count == 0) count = take(history, false, test);
    hu_collapsed(metric, chance, test, count, reason);
done:
    hu_free(test);
    hu_history_free(history);
    return st;
}
