/* Means over the seeds of a precision, how far they are from the best, and the fronts. */
#include "report/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "render/csv.h"

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
 * is ahead, with what is left of its runs, is not after: how far is not known. */
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

/* ---- Files of rows ---- */

/* ---- CSV ---- */

static hu_status put_flag(hu_byte_writer *out, bool is_true) {
    return hu_csv_put_word(out, is_true ? "1" : "0");
}

static const char csv_titles[] =
    "name,model,data,precision,metric,better,value,deviation,least,most,best,best_deviation,behind,"
    "within_noise,pareto,runs,ended,diverged,collapsed,ledger_bytes,peak_rss_bytes,"
    "samples_per_second,low_precision_ratio,model_aggregate_bits_start,model_aggregate_bits,"
    "model_aggregate_bits_mean,promoted,skipped_steps,relative_training_cost,"
    "relative_inference_cost\n";

/* Names first, then numbers as compare.json has them: shares, bytes, bits. */
static hu_status put_csv_row(hu_byte_writer *out, const hu_summary *s) {
    const hu_report_run *run = s->run;
    const double bits = 8.0 * mib;
    hu_status st;
    HU_TRY(hu_csv_put_cell(out, run->name));
    HU_TRY(hu_csv_put_word(out, hu_report_text(run, "model.name", "")));
    HU_TRY(hu_csv_put_word(out, hu_report_text(run, "data.name", "")));
    HU_TRY(hu_csv_put_word(out, run->precision));
    HU_TRY(hu_csv_put_word(out, run->metric->name));
    HU_TRY(hu_csv_put_word(out, run->metric->higher_is_better ? "higher" : "lower"));
    const double metric[] = {s->value, s->deviation,      s->least, s->most,
                             s->best,  s->best_deviation, s->behind};
    for (size_t i = 0; i < sizeof metric / sizeof *metric; i++)
        HU_TRY(hu_csv_put_real(out, metric[i]));
    HU_TRY(put_flag(out, s->is_noise));
    HU_TRY(put_flag(out, s->is_front[HU_BY_MEMORY]));
    const double numbers[] = {s->runs,
                              s->done,
                              s->diverged,
                              s->collapsed,
                              s->memory * mib,
                              s->rss * mib,
                              s->rate,
                              s->low_ratio,
                              s->aggregate_start * bits,
                              s->aggregate * bits,
                              s->aggregate_mean * bits,
                              s->promoted,
                              s->skipped,
                              s->training_cost,
                              s->inference_cost};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        HU_TRY(hu_csv_put_real(out, numbers[i]));
    HU_TRY(hu_csv_put_text(out, "\n"));
done:
    return st;
}

hu_status hu_report_csv(const hu_report *report, const char *path) {
    hu_status st;
    hu_summary *all = NULL;
    hu_byte_writer out = {0};
    HU_TRY(hu_report_summarise(report, &all));
    HU_TRY(hu_csv_put_text(&out, csv_titles));
    for (int i = 0; i < report->precisions; i++) HU_TRY(put_csv_row(&out, &all[i]));
    HU_TRY(hu_file_replace(path, out.data, out.size));
done:
    hu_writer_free(&out);
    hu_free(all);
    return st;
}

/* ---- LaTeX ---- */

static hu_status put(hu_byte_writer *out, const char *text) {
    return hu_csv_put_text(out, text);
}

/* Text with what TeX would take for its own. */
static hu_status put_tex(hu_byte_writer *out, const char *text) {
    static const struct {
        char letter;
        const char *tex;
    } escapes[] = {{'\\', "\\textbackslash{}"},
                   {'{', "\\{"},
                   {'}', "\\}"},
                   {'$', "\\$"},
                   {'&', "\\&"},
                   {'#', "\\#"},
                   {'%', "\\%"},
                   {'_', "\\_"},
                   {'^', "\\textasciicircum{}"},
                   {'~', "\\textasciitilde{}"},
                   {'<', "\\textless{}"},
                   {'>', "\\textgreater{}"},
                   {'"', "\\textquotedbl{}"}};
    hu_status st = HU_OK;
    for (; *text && st == HU_OK; text++) {
        const char letter[2] = {(unsigned char)*text < ' ' ? ' ' : *text, '\0'};
        const char *tex = letter;
        for (size_t e = 0; e < sizeof escapes / sizeof *escapes; e++)
            if (*text == escapes[e].letter) tex = escapes[e].tex;
        st = put(out, tex);
    }
    return st;
}

/* " & $75.70 \pm 0.10$": without the deviation of one run; a dash for none. */
static hu_status put_tex_metric(hu_byte_writer *out, const hu_metric *metric, double value,
                                double deviation) {
    char text[4 * HU_METRIC_TEXT_BYTES], mean[HU_METRIC_TEXT_BYTES], spread[HU_METRIC_TEXT_BYTES];
    if (!isfinite(value)) return put(out, " & --");
    snprintf(text, sizeof text, " & $%s%s%s$", hu_metric_number(metric, value, mean),
             isfinite(deviation) ? " \\pm " : "",
             isfinite(deviation) ? hu_metric_number(metric, deviation, spread) : "");
    return put(out, text);
}

static hu_status put_tex_number(hu_byte_writer *out, const char *form, double value) {
    char number[40], text[64];
    if (!isfinite(value)) return put(out, " & --");
    snprintf(number, sizeof number, form[0] == '1' ? "%.1f" : "%.2f", value);
    snprintf(text, sizeof text, " & $%s$", number);
    return put(out, text);
}

static hu_status put_tex_head(hu_byte_writer *out, const hu_report *report, const char *title) {
    hu_status st;
    char words[HU_METRIC_TEXT_BYTES];
    const hu_metric *metric = report->metric;
    HU_TRY(put(out, "% "));
    HU_TRY(put_tex(out, title));
    HU_TRY(put(out, "; made by halfulp " HALFULP_VERSION " (halfulp report). Needs "
                    "\\usepackage{booktabs}\n"
                    "% and \\usepackage[T1]{fontenc}. Mean and standard deviation over the seeds "
                    "that ended; * on the front of\n% metric and memory.\n"
                    "\\begin{tabular}{lrrrrr}\n\\toprule\nprecision & "));
    HU_TRY(put_tex(out, hu_metric_words(metric, words)));
    HU_TRY(put_tex(out, metric->unit));
    HU_TRY(put(out, " & best"));
    HU_TRY(put_tex(out, metric->unit));
    HU_TRY(put(out, " & memory, MiB & aggregate, MiB & seeds \\\\\n\\midrule\n"));
done:
    return st;
}

static hu_status put_tex_row(hu_byte_writer *out, const hu_report *report, const hu_summary *s) {
    hu_status st;
    char seeds[40];
    bool is_same = s->run->metric == report->metric;
    HU_TRY(put_tex(out, s->run->name));
    if (report->precisions > 1 && s->is_front[HU_BY_MEMORY]) HU_TRY(put(out, "*"));
    HU_TRY(put_tex_metric(out, s->run->metric, is_same ? s->value : (double)NAN, s->deviation));
    HU_TRY(put_tex_metric(out, s->run->metric, is_same ? s->best : (double)NAN, s->best_deviation));
    HU_TRY(put_tex_number(out, "1", s->memory));
    HU_TRY(put_tex_number(out, "2", s->aggregate));
    snprintf(seeds, sizeof seeds, " & $%d/%d$", s->done, s->runs);
    HU_TRY(put(out, seeds));
    HU_TRY(put(out, " \\\\\n"));
done:
    return st;
}

hu_status hu_report_tex(const hu_report *report, const char *title, const char *path) {
    hu_status st;
    hu_summary *all = NULL;
    hu_byte_writer out = {0};
    HU_TRY(hu_report_summarise(report, &all));
    HU_TRY(put_tex_head(&out, report, title));
    for (int i = 0; i < report->precisions; i++) HU_TRY(put_tex_row(&out, report, &all[i]));
    HU_TRY(put(&out, "\\bottomrule\n\\end{tabular}\n"));
    HU_TRY(hu_file_replace(path, out.data, out.size));
done:
    hu_writer_free(&out);
    hu_free(all);
    return st;
}
