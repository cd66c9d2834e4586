#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "planner/planner.h"
#include "render/json.h"
#include "render/table.h"
#include "sweep/compare.h"

/* ---- Means over the seeds, their noise, and the fronts ---- */

/* A row that ended well, with the numbers of its result. */
static void add_result(const hu_job *job, hu_compare_mean *mean) {
    const json_t *result = job->result;
    hu_result_metric test = hu_result_metric_of(result);
    mean->done++;
    mean->collapsed += json_object_get(result, "collapsed") != NULL;
    mean->least = fmin(mean->least, test.last);
    mean->most = fmax(mean->most, test.last);
    hu_sample_stats_add(&mean->last_spread, test.last);
    hu_sample_stats_add(&mean->best_spread, test.best);
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
    mean->value = hu_sample_stats_mean(&mean->last_spread);
    mean->deviation = hu_sample_stats_deviation(&mean->last_spread);
    mean->best = hu_sample_stats_mean(&mean->best_spread);
    mean->best_deviation = hu_sample_stats_deviation(&mean->best_spread);
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

/* ---- The tables of compare ---- */

enum { ROLES = 32, FIRST_LEFT_OUT = 2 /* column: precision and metric always stand */ };

static const double mib = 1024.0 * 1024.0;

/* "-" where there is no number. */
static hu_status number(hu_table *table, const char *unit, int digits, double value) {
    if (isnan(value)) return hu_table_cell(table, "-");
    return hu_table_cell(table, "%.*f%s", digits, value, unit);
}

/* Lowest to highest value over the seeds; "-" for one seed. */
static hu_status put_range(hu_table *table, const hu_metric *metric, const hu_compare_mean *mean) {
    char least[HU_METRIC_TEXT_BYTES], most[HU_METRIC_TEXT_BYTES];
    if (mean->done < 2) return hu_table_cell(table, "-");
    return hu_table_cell(table, "%s..%s", hu_metric_number(metric, mean->least, least),
                         hu_metric_number(metric, mean->most, most));
}

/* "0.633 (1.2e+14)": a share, and the bit-operations that it is of. */
static hu_status put_cost(hu_table *table, double relative, double bitops) {
    if (isnan(relative)) return hu_table_cell(table, "-");
    return hu_table_cell(table, "%.3f (%.3g)", relative, bitops);
}

/* "75.70 +- 0.10 %": without the deviation of one run. */
static hu_status put_value(hu_table *table, const hu_metric *metric, double value, double deviation,
                           const char *mark) {
    char mean[HU_METRIC_TEXT_BYTES], spread[HU_METRIC_TEXT_BYTES];
    hu_metric_number(metric, value, mean);
    if (isnan(value)) return hu_table_cell(table, "-");
    if (isnan(deviation)) return hu_table_cell(table, "%s%s%s", mean, metric->unit, mark);
    hu_metric_number(metric, deviation, spread);
    return hu_table_cell(table, "%s +- %s%s%s", mean, spread, metric->unit, mark);
}

/* "-0.10 ~": after the best, and within the noise. */
static hu_status put_behind(hu_table *table, const hu_metric *metric, const hu_compare_mean *mean) {
    char number[HU_METRIC_TEXT_BYTES];
    if (isnan(mean->behind)) return hu_table_cell(table, "-");
    if (mean->behind == 0.0) return hu_table_cell(table, "%s", mean->is_noise ? "0 ~" : "0");
    hu_metric_number(metric, mean->behind, number);
    return hu_table_cell(table, "%s%s%s", mean->behind > 0.0 ? "+" : "", number,
                         mean->is_noise ? " ~" : "");
}

/* "8.1 > 8.3 (8.2)" MiB: at the start, at the end, the mean over the steps; one number where all
 * are the same. */
static hu_status put_aggregate(hu_table *table, const hu_compare_mean *mean) {
    const double scale = 1.0 / 8.0 / mib;
    double end = mean->aggregate_bits * scale;
    if (!(fabs(mean->aggregate_start - mean->aggregate_bits) > 0.0) &&
        !(fabs(mean->aggregate_mean - mean->aggregate_bits) > 0.0))
        return number(table, " MiB", 1, end);
    return hu_table_cell(table, "%.1f > %.1f (%.1f) MiB", mean->aggregate_start * scale, end,
                         mean->aggregate_mean * scale);
}

/* That which the others are held against. */
static bool is_best(const hu_compare_mean *mean) {
    return mean->behind == 0.0 && !mean->is_noise;
}

/* Runs that went wrong; a terminal shows that there are some. */
static hu_status put_lost(hu_table *table, int count) {
    hu_status st = hu_table_cell(table, "%d", count);
    if (st == HU_OK && count > 0) hu_table_look(table, HU_COLOUR_BAD);
    return st;
}

static hu_status put_mean(hu_table *table, const hu_metric *metric, const hu_compare_mean *mean,
                          bool has_costs) {
    hu_status st;
    HU_TRY(hu_table_cell(table, "%s%s", mean->precision,
                         mean->is_front ? " *"
                         : mean->is_far ? " (far below)"
                                        : ""));
    HU_TRY(put_value(table, metric, mean->value, mean->deviation, ""));
    if (is_best(mean)) hu_table_look(table, HU_COLOUR_BEST);
    HU_TRY(put_range(table, metric, mean));
    HU_TRY(put_behind(table, metric, mean));
    HU_TRY(put_value(table, metric, mean->best, mean->best_deviation,
                     mean->is_best_front ? " *" : ""));
    if (has_costs) {
        HU_TRY(put_cost(table, mean->relative_training, mean->training_bitops));
        HU_TRY(put_cost(table, mean->relative_inference, mean->inference_bitops));
    }
    HU_TRY(number(table, "", 3, mean->low_ratio));
    HU_TRY(put_aggregate(table, mean));
    HU_TRY(number(table, " MiB", 1, mean->memory_bytes / mib));
    HU_TRY(number(table, " MiB", 1, mean->peak_rss_bytes / mib));
    HU_TRY(number(table, "", 0, mean->seconds));
    HU_TRY(number(table, "", 1, mean->promoted));
    HU_TRY(number(table, "", 1, mean->skipped));
    HU_TRY(hu_table_cell(table, "%d of %d", mean->done, mean->rows));
    if (mean->failed > 0) hu_table_look(table, HU_COLOUR_BAD);
    HU_TRY(put_lost(table, mean->diverged));
    HU_TRY(put_lost(table, mean->collapsed));
done:
    return st;
}

/* Whether any precision has a schedule of bits. */
static bool any_costs(const hu_compare *compare, const hu_compare_mean *means) {
    for (size_t i = 0; i < hu_keys_count(compare->precisions); i++)
        if (!isnan(means[i].relative_training)) return true;
    return false;
}

/* Whether any run collapsed: the column and its meaning stand in the text then. */
static bool any_collapsed(const hu_compare *compare, const hu_compare_mean *means) {
    for (size_t i = 0; i < hu_keys_count(compare->precisions); i++)
        if (means[i].collapsed > 0) return true;
    return false;
}

/* Whether any is low: the column and its meaning stand in the text then. */
static bool any_low(const hu_compare *compare, const hu_compare_mean *means) {
    enum { SHOWN = 2000 }; /* parts: three digits, and half of the last */
    for (size_t i = 0; i < hu_keys_count(compare->precisions); i++)
        if (means[i].low_ratio * SHOWN > 1.0) return true;
    return false;
}

/* A row for each precision; columns that are zero in all of them are left out. */
static hu_status add_means(const hu_compare *compare, const hu_compare_mean *means,
                           bool is_coloured, char **text) {
    static const char *const costs[] = {"training cost", "inference cost"};
    static const char *const others[] = {"low ratio", "aggregate", "memory",  "peak RSS",
                                         "seconds",   "promoted",  "skipped", "runs",
                                         "diverged",  "collapsed"};
    enum { COSTS = sizeof costs / sizeof *costs, OTHERS = sizeof others / sizeof *others };
    char words[HU_METRIC_TEXT_BYTES];
    const hu_metric *metric = hu_compare_metric(compare);
    const char *titles[5 + COSTS + OTHERS] = {"precision", hu_metric_words(metric, words), "range",
                                              "to the best", "best"};
    bool has_costs = any_costs(compare, means);
    int count = 5;
    hu_status st;
    hu_table *table = NULL;
    for (int i = 0; has_costs && i < COSTS; i++) titles[count++] = costs[i];
    for (int i = 0; i < OTHERS; i++) titles[count++] = others[i];
    HU_TRY(hu_table_create(titles, count, &table));
    for (size_t i = 0; i < hu_keys_count(compare->precisions); i++)
        HU_TRY(put_mean(table, metric, &means[i], has_costs));
    hu_table_leave_out(table, FIRST_LEFT_OUT);
    HU_TRY(hu_table_print_for(table, is_coloured, text));
done:
    hu_table_free(table);
    return st;
}

/* Ledger of the first seed of each precision that has one. */
static const json_t *ledger_of(const hu_compare *compare, size_t precision) {
    size_t seeds = hu_keys_count(compare->seeds);
    for (size_t k = 0; k < seeds; k++) {
        const json_t *ledger =
            json_object_get(compare->job[precision * seeds + k].result, "ledger_bytes");
        if (ledger) return ledger;
    }
    return NULL;
}

static bool is_sum(const char *role) {
    return strcmp(role, "arena") == 0 || strcmp(role, "saved") == 0 || strcmp(role, "total") == 0;
}

/* Names of the roles that take memory anywhere, sums last. */
static int list_roles(const hu_compare *compare, const char **roles) {
    int count = 1;
    roles[0] = "precision";
    for (size_t i = 0; i < hu_keys_count(compare->precisions); i++) {
        json_t *ledger = (json_t *)(uintptr_t)ledger_of(compare, i);
        for (void *at = json_object_iter(ledger); at; at = json_object_iter_next(ledger, at)) {
            const char *role = json_object_iter_key(at);
            bool is_known = json_number_value(json_object_iter_value(at)) <= 0.0 || is_sum(role);
            for (int r = 1; r < count; r++) is_known = is_known || strcmp(roles[r], role) == 0;
            if (!is_known && count < ROLES - 2) roles[count++] = role;
        }
    }
    roles[count++] = "saved";
    roles[count++] = "total";
    return count;
}

/* A row of MiB by role for each precision that has a ledger. */
static hu_status add_ledgers(const hu_compare *compare, char **text) {
    const char *roles[ROLES];
    int count = list_roles(compare, roles);
    hu_status st;
    hu_table *table = NULL;
    HU_TRY(hu_table_create(roles, count, &table));
    for (size_t i = 0; i < hu_keys_count(compare->precisions); i++) {
        const json_t *ledger = ledger_of(compare, i);
        if (!ledger) continue;
        HU_TRY(hu_table_cell(table, "%s", hu_keys_value(hu_keys_at(compare->precisions, i))));
        for (int r = 1; r < count; r++)
            HU_TRY(hu_table_cell(table, "%.2f", hu_json_real(ledger, roles[r]) / mib));
    }
    hu_table_leave_out(table, 1);
    HU_TRY(hu_table_print(table, text));
done:
    hu_table_free(table);
    return st;
}

/* A line for each row that diverged, collapsed or failed; returns the bytes written. */
static size_t put_endings(const hu_compare *compare, char *text, size_t capacity) {
    size_t used = 0;
    for (int i = 0; i < compare->count && used < capacity; i++) {
        const hu_job *job = &compare->job[i];
        const json_t *why = json_object_get(job->result, "diverged");
        const json_t *lost = json_object_get(job->result, "collapsed");
        int wrote = 0;
        if (why || lost)
            wrote = snprintf(text + used, capacity - used, "%s %s: %s\n", job->label,
                             why ? "diverged" : "collapsed", json_string_value(why ? why : lost));
        else if (job->state == HU_JOB_FAILED)
            wrote =
                snprintf(text + used, capacity - used, "%s failed: %s\n", job->label, job->failure);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
    return used;
}

/* "fp(3,2): activations of 6 bits lie in 8 each" of the first run of each precision that has such
 * codes, and what helps; returns the length. */
static size_t put_gaps(const hu_compare *compare, char *text, size_t capacity) {
    size_t used = 0, seeds = hu_keys_count(compare->seeds);
    text[0] = '\0';
    for (size_t p = 0; p < hu_keys_count(compare->precisions); p++) {
        const json_t *result = compare->job[p * seeds].result;
        const char *gaps = json_string_value(json_object_get(result, "gaps"));
        if (!gaps || used >= capacity) continue;
        used += (size_t)snprintf(text + used, capacity - used, "%s: %s; %s\n",
                                 hu_keys_value(hu_keys_at(compare->precisions, p)), gaps,
                                 HU_GAPS_ADVICE);
    }
    return used < capacity ? used : capacity - 1;
}

/* What one run of each says of noise: nothing of the noise of seeds. */
static const char *seeds_note(const hu_compare *compare) {
    return hu_keys_count(compare->seeds) > 1 ? ""
                                             : "one seed each: nothing is known of how far other "
                                               "seeds would scatter, and ~ tells of the "
                                               "test samples alone;\nseeds=1,2,3 tells.\n";
}

hu_status hu_compare_print(const hu_compare *compare, bool is_coloured, char **text) {
    static const char notes[] =
        "mean +- standard deviation of the last evaluation over the seeds, and of each run's best "
        "one.\n~ no difference to the best that the noise of seeds, or of the test samples where "
        "each has one seed, would not make (95 %).\naggregate: all tensors of one batch in "
        "their formats, where it changes at the start > at the end\n(mean over the steps); memory: "
        "arena, masters and optimizer; peak RSS: of the whole process.\n";
    static const char low[] = "low ratio: mean over the steps.\n";
    static const char collapsed[] =
        "collapsed: stayed below half of its best (above twice, where lower is better), or ended "
        "where\nguessing does.\n";
    static const char costs[] =
        "costs: over those of the most bits in all layers, and in bit-operations: of all steps, "
        "and of\none sample when the model is used.\n";
    char words[HU_METRIC_TEXT_BYTES];
    hu_status st;
    hu_compare_mean *means = NULL;
    char *results = NULL, *ledgers = NULL;
    HU_TRY(hu_compare_means(compare, &means));
    HU_TRY(add_means(compare, means, is_coloured, &results));
    HU_TRY(add_ledgers(compare, &ledgers));
    size_t capacity = strlen(results) + strlen(ledgers) + strlen(seeds_note(compare)) +
                      sizeof notes + sizeof low + sizeof collapsed + sizeof costs + sizeof words +
                      400 + (size_t)compare->count * 2000;
    HU_TRY(HU_NEW_ARRAY(text, capacity));
    int head = snprintf(
        *text, capacity,
        "%s\n* on the front of %s against memory, by the last or by the best evaluations. "
        "All rows are evaluated with %s weights.\n%s%s%s%s%s\nmemory by role in MiB (first "
        "seed)\n%s\n",
        results, hu_metric_words(hu_compare_metric(compare), words), hu_compare_weights(compare),
        notes, any_low(compare, means) ? low : "", any_collapsed(compare, means) ? collapsed : "",
        seeds_note(compare), any_costs(compare, means) ? costs : "", ledgers);
    size_t used = (size_t)head;
    used += put_gaps(compare, *text + used, capacity - used);
    put_endings(compare, *text + used, capacity - used);
done:
    hu_free(means);
    hu_free(results);
    hu_free(ledgers);
    return st;
}
