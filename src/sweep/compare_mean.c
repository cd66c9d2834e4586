/* sweep/compare_mean.c - means over the seeds, their noise, and the fronts. */
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "show/json.h"
#include "sweep/compare.h"

/* A row that ended well, with the numbers of its result. */
static void add_result(const hu_job *job, hu_compare_mean *mean) {
    const json_t *result = job->result;
    hu_result_metric test = hu_result_metric_of(result);
    mean->done++;
    mean->collapsed += json_object_get(result, "collapsed") != NULL;
    mean->least = fmin(mean->least, test.last);
    mean->most = fmax(mean->most, test.last);
    hu_spread_add(&mean->last_spread, test.last);
    hu_spread_add(&mean->best_spread, test.best);
    mean->low_ratio += hu_json_real(result, "low_precision_ratio");
    mean->aggregate_start += hu_json_real(result, "model_aggregate_bits_start");
    mean->aggregate_bits += hu_json_real(result, "model_aggregate_bits");
    mean->aggregate_mean += hu_json_real(result, "model_aggregate_bits_mean");
    mean->memory_bytes += hu_json_real(result, "ledger_bytes.total");
    mean->peak_rss_bytes += hu_json_real(result, "peak_rss_bytes");
    mean->promoted += hu_json_real(result, "promoted");
    mean->skipped += hu_json_real(result, "skipped_steps");
    mean->seconds += job->seconds;
    mean->training_bitops += hu_json_real(result, "bits.training_bitops");
    mean->relative_training += hu_json_real(result, "bits.relative_training_cost");
    mean->inference_bitops += hu_json_real(result, "bits.inference_bitops");
    mean->relative_inference += hu_json_real(result, "bits.relative_inference_cost");
}

/* Adds a job that ended to its precision; one that diverged only counts. */
static void take_row(const hu_job *job, hu_compare_mean *mean) {
    mean->rows++;
    mean->failed += job->state == HU_JOB_FAILED;
    if (job->state != HU_JOB_DONE) return;
    if (json_object_get(job->result, "diverged"))
        mean->diverged++;
    else
        add_result(job, mean);
}

/* Sums become means over the rows that ended well. */
static void divide(hu_compare_mean *mean) {
    double *sums[] = {&mean->low_ratio,         &mean->aggregate_start,   &mean->aggregate_bits,
                      &mean->aggregate_mean,    &mean->memory_bytes,      &mean->peak_rss_bytes,
                      &mean->promoted,          &mean->skipped,           &mean->seconds,
                      &mean->training_bitops,   &mean->relative_training, &mean->inference_bitops,
                      &mean->relative_inference};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        *sums[i] = mean->done ? *sums[i] / mean->done : (double)NAN;
    mean->value = hu_spread_mean(&mean->last_spread);
    mean->deviation = hu_spread_deviation(&mean->last_spread);
    mean->best = hu_spread_mean(&mean->best_spread);
    mean->best_deviation = hu_spread_deviation(&mean->best_spread);
}

/* Has a mean over all its seeds: none diverged, collapsed, failed or is not finished. */
static bool is_whole(const hu_compare_mean *mean) {
    return mean->done > 0 && mean->done == mean->rows && mean->collapsed == 0 &&
           !isnan(mean->value);
}

/* Others, and those far below the rest, are on no front. */
static bool is_sound(const hu_compare_mean *mean) {
    return is_whole(mean) && !mean->is_far;
}

/* As the metric is printed, the better ones larger. */
static double printed(const hu_metric *metric, const hu_compare_mean *mean) {
    return (metric->higher_is_better ? metric->factor : -metric->factor) * mean->value;
}

/* What is not separated from the best by more than noise is not far from it. */
static hu_status mark_far(const hu_metric *metric, hu_compare_mean *mean, size_t count) {
    enum { LEAST = 2 }; /* of the printed unit: what is nearer than that is not far */
    double *value;
    size_t n = 0;
    hu_status st = HU_NEW_ARRAY(&value, count + 1);
    if (st != HU_OK) return st;
    for (size_t i = 0; i < count; i++)
        if (is_whole(&mean[i])) value[n++] = printed(metric, &mean[i]);
    for (size_t i = 0; i < count; i++)
        mean[i].is_far = is_whole(&mean[i]) && !mean[i].is_noise &&
                         hu_is_far_below(value, n, printed(metric, &mean[i]), LEAST);
    hu_free(value);
    return HU_OK;
}

static double value_of(const hu_compare_mean *mean, bool of_best) {
    return of_best ? mean->best : mean->value;
}

/* As good in the metric and in memory, and better in one. */
static bool beats(const hu_metric *metric, const hu_compare_mean *a, const hu_compare_mean *b,
                  bool of_best) {
    double mine = value_of(a, of_best), other = value_of(b, of_best);
    if (hu_metric_is_better(metric, other, mine) || a->memory_bytes > b->memory_bytes) return false;
    return hu_metric_is_better(metric, mine, other) || a->memory_bytes < b->memory_bytes;
}

static bool is_on_front(const hu_metric *metric, const hu_compare_mean *mean, size_t count,
                        size_t i, bool of_best) {
    bool is_front = is_sound(&mean[i]);
    for (size_t k = 0; k < count && is_front; k++)
        is_front = !is_sound(&mean[k]) || !beats(metric, &mean[k], &mean[i], of_best);
    return is_front;
}

static void mark_fronts(const hu_metric *metric, hu_compare_mean *mean, size_t count) {
    for (size_t i = 0; i < count; i++) {
        mean[i].is_front = is_on_front(metric, mean, count, i, false);
        mean[i].is_best_front = is_on_front(metric, mean, count, i, true);
    }
}

/* The precision of the best mean that is whole, NULL: none. */
static const hu_compare_mean *best_of(const hu_metric *metric, const hu_compare_mean *mean,
                                      size_t count) {
    const hu_compare_mean *best = NULL;
    for (size_t i = 0; i < count; i++)
        if (is_whole(&mean[i]) &&
            (!best || hu_metric_is_better(metric, mean[i].value, best->value)))
            best = &mean[i];
    return best;
}

/* Of shares: what the number of test samples alone leaves open. */
static hu_noise noise_of_samples(const hu_compare *compare, double share) {
    hu_noise noise = {(double)NAN, 0.0};
    for (int i = 0; i < compare->count && !(noise.freedom > 0.0); i++)
        noise = hu_result_noise(compare->job[i].result, share);
    return noise;
}

/* How far seeds scatter around the mean of their precision, over all that are sound; of one seed
 * each, what the test samples leave open. */
static hu_noise find_noise(const hu_compare *compare, const hu_compare_mean *mean, size_t count,
                           double share) {
    hu_noise noise = {0};
    for (size_t i = 0; i < count; i++)
        if (is_whole(&mean[i])) hu_noise_pool(&noise, &mean[i].last_spread);
    return noise.freedom > 0.0 ? noise : noise_of_samples(compare, share);
}

static void compare_with_best(const hu_compare *compare, hu_compare_mean *mean, size_t count) {
    const hu_compare_mean *best = best_of(hu_compare_metric(compare), mean, count);
    for (size_t i = 0; i < count; i++) mean[i].behind = (double)NAN;
    if (!best) return;
    hu_noise noise = find_noise(compare, mean, count, best->value);
    for (size_t i = 0; i < count; i++) {
        if (mean[i].done == 0) continue;
        mean[i].behind = mean[i].value - best->value;
        double width = hu_noise_of(&noise, mean[i].done, best->done);
        mean[i].is_noise = &mean[i] != best && is_whole(&mean[i]) && fabs(mean[i].behind) <= width;
    }
}

/* Shares of one measure, that of the range with the most bits, where ranges end differently: rows
 * of a comparison see the same samples of the same model. A billionth: sums of doubles differ. */
static void share_measure(hu_compare_mean *mean, size_t count) {
    double training = 0.0, inference = 0.0;
    for (size_t i = 0; i < count; i++) {
        if (isnan(mean[i].relative_training)) continue;
        training = fmax(training, mean[i].training_bitops / mean[i].relative_training);
        inference = fmax(inference, mean[i].inference_bitops / mean[i].relative_inference);
    }
    for (size_t i = 0; i < count; i++) {
        hu_compare_mean *m = &mean[i];
        if (m->training_bitops / training < m->relative_training * (1.0 - 1e-9))
            m->relative_training = m->training_bitops / training;
        if (m->inference_bitops / inference < m->relative_inference * (1.0 - 1e-9))
            m->relative_inference = m->inference_bitops / inference;
    }
}

hu_status hu_compare_means(const hu_compare *compare, hu_compare_mean **means) {
    size_t count = hu_keys_count(compare->precisions), seeds = hu_keys_count(compare->seeds);
    hu_status st = HU_NEW_ARRAY(means, count);
    if (st != HU_OK) return st;
    hu_compare_mean *made = *means;
    for (size_t i = 0; i < count; i++) {
        made[i] = (hu_compare_mean){.precision = hu_keys_value(hu_keys_at(compare->precisions, i)),
                                    .least = (double)NAN,
                                    .most = (double)NAN};
        for (size_t k = 0; k < seeds; k++) take_row(&compare->job[i * seeds + k], &made[i]);
        divide(&made[i]);
    }
    share_measure(made, count);
    compare_with_best(compare, made, count);
    st = mark_far(hu_compare_metric(compare), made, count);
    if (st != HU_OK) {
        hu_free(made);
        *means = NULL;
        return st;
    }
    mark_fronts(hu_compare_metric(compare), made, count);
    return HU_OK;
}
