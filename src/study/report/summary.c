/* Means over the seeds of a precision, how far they are from the best, and the fronts. */
#include "report/summary.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

static const double mib = 1024.0 * 1024.0;

/* Bits in MiB. Results of older versions know the end alone, or nothing. */
static void add_aggregate(const hu_report_run *run, hu_summary *s) {
    const json_t *result = run->result;
    const double scale = 1.0 / 8.0 / mib;
    double end = hu_json_real(result, "model_aggregate_bits");
    if (isnan(end) && run->history && run->history->plan)
        end = (double)run->history->plan->model_aggregate_bits;
    s->aggregate += end * scale;
    s->aggregate_start += hu_json_real(result, "model_aggregate_bits_start") * scale;
    s->aggregate_mean += hu_json_real(result, "model_aggregate_bits_mean") * scale;
}

/* What models of texts train in a second are tokens. */
static double rate_of(const json_t *result) {
    double tokens = hu_json_real(result, "tokens_per_second");
    return isnan(tokens) ? hu_json_real(result, "images_per_second") : tokens;
}

/* A run whose last epoch has no loss has none. */
static void add_loss(double loss, hu_summary *s) {
    if (isnan(loss)) return;
    s->loss += loss;
    s->with_loss++;
}

static void add_run(const hu_report_run *run, hu_summary *s) {
    const json_t *result = run->result;
    hu_result_metric test = hu_result_metric_of(result);
    s->runs++;
    if (!result) return;
    s->memory = fmax(s->memory, hu_json_real(result, "ledger_bytes.total") / mib);
    s->ended++;
    s->rss += hu_json_real(result, "peak_rss_bytes") / mib;
    s->rate += rate_of(result);
    s->skipped += hu_json_real(result, "skipped_steps");
    s->promoted += hu_json_real(result, "promoted");
    s->low_ratio += hu_json_real(result, "low_precision_ratio");
    add_aggregate(run, s);
    if (json_object_get(result, "diverged")) {
        s->diverged++;
        return;
    }
    s->done++;
    s->collapsed += json_object_get(result, "collapsed") != NULL;
    hu_sample_stats_add(&s->last_spread, test.last);
    hu_sample_stats_add(&s->best_spread, test.best);
    s->least = fmin(s->least, test.last);
    s->most = fmax(s->most, test.last);
    add_loss(hu_json_real(result, "train_loss"), s);
    s->training_cost += hu_json_real(result, "bits.relative_training_cost");
    s->inference_cost += hu_json_real(result, "bits.relative_inference_cost");
    s->training_bitops += hu_json_real(result, "bits.training_bitops");
    s->inference_bitops += hu_json_real(result, "bits.inference_bitops");
}

/* Sums become means: of what every run has that ended, and of what those have that ended well; NaN
 * where there are none. */
static void divide(hu_summary *s) {
    double *of_ended[] = {
        &s->low_ratio, &s->aggregate_start, &s->aggregate, &s->aggregate_mean, &s->rss,
        &s->rate,      &s->promoted,        &s->skipped};
    double *of_done[] = {&s->training_cost, &s->inference_cost, &s->training_bitops,
                         &s->inference_bitops};
    for (size_t i = 0; i < sizeof of_ended / sizeof *of_ended; i++)
        *of_ended[i] = s->ended ? *of_ended[i] / s->ended : (double)NAN;
    for (size_t i = 0; i < sizeof of_done / sizeof *of_done; i++)
        *of_done[i] = s->done ? *of_done[i] / s->done : (double)NAN;
    s->loss = s->with_loss ? s->loss / s->with_loss : (double)NAN;
    s->value = hu_sample_stats_mean(&s->last_spread);
    s->deviation = hu_sample_stats_deviation(&s->last_spread);
    s->best = hu_sample_stats_mean(&s->best_spread);
    s->best_deviation = hu_sample_stats_deviation(&s->best_spread);
}

double hu_summary_across(const hu_summary *s, int axis) {
    const double x[HU_AXES] = {[HU_BY_MEMORY] = s->memory,
                               [HU_BY_TRAINING] = s->training_cost,
                               [HU_BY_INFERENCE] = s->inference_cost,
                               [HU_BY_RATIO] = s->low_ratio};
    return x[axis];
}

/* Whether both see the same samples of the same model, quantised in the same layers. */
static bool is_same_work(const hu_summary *a, const hu_summary *b) {
    static const char *const keys[] = {"model.name", "model.width",      "model.norm",
                                       "data.name",  "data.limit",       "run.batch",
                                       "run.steps",  "bits.first_float", "bits.last_float"};
    bool is_same = true;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        is_same = is_same && strcmp(hu_report_text(a->run, keys[i], ""),
                                    hu_report_text(b->run, keys[i], "")) == 0;
    return is_same;
}

/* Costs that can be compared: where ranges of bits end differently, all are shares of the dearest,
 * as in the table of compare. */
static void share_measure(hu_summary *all, int count) {
    for (int i = 0; i < count; i++) {
        hu_summary *s = &all[i];
        double training = 0.0, inference = 0.0;
        for (int k = 0; k < count; k++) {
            if (!is_same_work(s, &all[k]) || isnan(all[k].training_bitops)) continue;
            training = fmax(training, all[k].training_bitops / all[k].training_cost);
            inference = fmax(inference, all[k].inference_bitops / all[k].inference_cost);
        }
        s->training_cost = fmin(s->training_cost, s->training_bitops / training);
        s->inference_cost = fmin(s->inference_cost, s->inference_bitops / inference);
    }
}

/* Has a mean over all its seeds, of the page's metric. */
static bool is_whole(const hu_metric *metric, const hu_summary *s) {
    bool ended_well = s->done > 0 && s->done == s->runs && s->collapsed == 0;
    return ended_well && s->run->metric == metric && isfinite(s->value);
}

/* A precision that diverged or collapsed with any seed, has another metric, or is far below the
 * others, is on no front. */
static bool is_sound(const hu_metric *metric, const hu_summary *s, int axis) {
    return is_whole(metric, s) && !s->is_far && isfinite(hu_summary_across(s, axis));
}

/* Values as they are printed, the better ones larger. */
static double printed(const hu_metric *metric, const hu_summary *s) {
    return (metric->higher_is_better ? metric->factor : -metric->factor) * s->value;
}

/* What is not separated from the best by more than noise is not far from it. */
static hu_status mark_far(const hu_metric *metric, hu_summary *all, int count) {
    enum { LEAST = 2 }; /* of the printed unit: what is nearer than that is not far */
    double *value;
    int n = 0;
    hu_status st = HU_NEW_ARRAY(&value, (size_t)count + 1);
    if (st != HU_OK) return st;
    for (int i = 0; i < count; i++)
        if (is_whole(metric, &all[i])) value[n++] = printed(metric, &all[i]);
    for (int i = 0; i < count; i++)
        all[i].is_far = all[i].run->metric == metric && isfinite(all[i].value) &&
                        !all[i].is_noise &&
                        hu_is_far_below(value, (size_t)n, printed(metric, &all[i]), LEAST);
    hu_free(value);
    return HU_OK;
}

/* Of one seed each, what the test samples alone leave open: nothing tells of seeds. */
static hu_noise noise_of_samples(const hu_report *report, double share) {
    hu_noise noise = {(double)NAN, 0.0};
    for (size_t i = 0; i < report->count && !(noise.freedom > 0.0); i++)
        if (report->run[i].metric == report->metric)
            noise = hu_result_noise(report->run[i].result, share);
    return noise;
}

/* How far each is behind the best, and whether that is more than the scatter of the seeds. One that
 * is ahead, with what is left of its runs, is not behind: how far is not known. */
static void mark_noise(const hu_report *report, hu_summary *all) {
    const hu_metric *metric = report->metric;
    const hu_summary *best = NULL;
    int count = report->precisions;
    hu_noise noise = {0};
    for (int i = 0; i < count; i++) {
        all[i].behind = (double)NAN;
        if (!is_whole(metric, &all[i])) continue;
        hu_noise_pool(&noise, &all[i].last_spread);
        if (!best || hu_metric_is_better(metric, all[i].value, best->value)) best = &all[i];
    }
    if (best && !(noise.freedom > 0.0)) noise = noise_of_samples(report, best->value);
    for (int i = 0; i < count && best; i++) {
        if (all[i].run->metric != metric || !isfinite(all[i].value)) continue;
        if (hu_metric_is_better(metric, all[i].value, best->value)) continue;
        all[i].behind = fabs(all[i].value - best->value);
        double width = hu_noise_of(&noise, all[i].done, best->done);
        all[i].is_noise = &all[i] != best && all[i].behind <= width;
    }
}

/* As good with at most as much of what is across, and better in one. */
static bool beats(const hu_metric *metric, const hu_summary *a, const hu_summary *b, int axis) {
    double mine = hu_summary_across(a, axis), other = hu_summary_across(b, axis);
    if (hu_metric_is_better(metric, b->value, a->value) || mine > other) return false;
    return hu_metric_is_better(metric, a->value, b->value) || mine < other;
}

static void mark_front(const hu_metric *metric, hu_summary *all, int count, int axis) {
    for (int i = 0; i < count; i++) {
        all[i].is_front[axis] = is_sound(metric, &all[i], axis);
        for (int k = 0; k < count; k++)
            if (is_sound(metric, &all[k], axis) && beats(metric, &all[k], &all[i], axis))
                all[i].is_front[axis] = false;
    }
}

/* One summary for each precision, of all its seeds. */
hu_status hu_report_summarise(const hu_report *report, hu_summary **all) {
    hu_status st = HU_NEW_ARRAY(all, (size_t)report->precisions + 1);
    if (st != HU_OK) return st;
    for (int i = 0; i < report->precisions; i++)
        (*all)[i] = (hu_summary){.least = (double)NAN, .most = (double)NAN, .memory = (double)NAN};
    for (size_t i = 0; i < report->count; i++) {
        const hu_report_run *run = &report->run[i];
        hu_summary *own = &(*all)[run->number];
        if (run->is_first) own->run = run;
        add_run(run, own);
    }
    for (int i = 0; i < report->precisions; i++) divide(&(*all)[i]);
    share_measure(*all, report->precisions);
    mark_noise(report, *all);
    HU_TRY(mark_far(report->metric, *all, report->precisions));
    for (int axis = 0; axis < HU_FRONTS; axis++)
        mark_front(report->metric, *all, report->precisions, axis);
done:
    if (st != HU_OK) hu_free(*all);
    return st;
}
