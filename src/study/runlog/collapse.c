#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "runlog/history.h"
#include "runlog/result.h"

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
