/* The metric against what bits cost, against memory and against the share of low precision; the
 * table of results. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/spread.h"
#include "report/report.h"
#include "show/chart.h"
#include "show/html.h"

static const double mib = 1024.0 * 1024.0;

/* What a picture has across. That of the ratio has no front. */
enum { BY_MEMORY, BY_TRAINING, BY_INFERENCE, FRONTS, BY_RATIO = FRONTS, AXES };

/* Below such a share of low precision there is nothing to draw: of a schedule of bits the copies of
 * weights alone count. */
static const double least_ratio = 0.01;

/* One precision: means over its seeds that ended well. */
typedef struct summary {
    const hu_report_run *run; /* the first */
    int runs, done, diverged, collapsed;
    double value, least, most, best; /* of the run's metric, not yet as printed */
    double deviation, best_deviation;
    hu_spread last_spread, best_spread;
    double low_ratio, aggregate_start, aggregate, aggregate_mean, memory, rss, rate, promoted,
        skipped, loss;
    double training_cost, inference_cost; /* shares; NaN: no schedule of bits */
    double training_bitops, inference_bitops;
    bool is_front[FRONTS];
} summary;

/* Bits in MiB. Results of older versions know the end alone, or nothing. */
static void add_aggregate(const hu_report_run *run, summary *s) {
    const json_t *result = run->result;
    const double scale = 1.0 / 8.0 / mib;
    double end = hu_json_real(result, "model_aggregate_bits");
    if (isnan(end) && run->history && run->history->plan)
        end = (double)run->history->plan->model_aggregate_bits;
    s->aggregate += end * scale;
    s->aggregate_start += hu_json_real(result, "model_aggregate_bits_start") * scale;
    s->aggregate_mean += hu_json_real(result, "model_aggregate_bits_mean") * scale;
}

static void add_run(const hu_report_run *run, summary *s) {
    const json_t *result = run->result;
    hu_result_metric test = hu_result_metric_of(result);
    s->runs++;
    if (!result) return;
    s->memory = fmax(s->memory, hu_json_real(result, "ledger_bytes.total") / mib);
    if (json_object_get(result, "diverged")) {
        s->diverged++;
        return;
    }
    s->done++;
    s->collapsed += json_object_get(result, "collapsed") != NULL;
    hu_spread_add(&s->last_spread, test.last);
    hu_spread_add(&s->best_spread, test.best);
    s->least = fmin(s->least, test.last);
    s->most = fmax(s->most, test.last);
    s->low_ratio += hu_json_real(result, "low_precision_ratio");
    add_aggregate(run, s);
    s->rss += hu_json_real(result, "peak_rss_bytes") / mib;
    s->rate += hu_json_real(result, "images_per_second");
    s->promoted += hu_json_real(result, "promoted");
    s->skipped += hu_json_real(result, "skipped_steps");
    s->loss += hu_json_real(result, "train_loss");
    s->training_cost += hu_json_real(result, "bits.relative_training_cost");
    s->inference_cost += hu_json_real(result, "bits.relative_inference_cost");
    s->training_bitops += hu_json_real(result, "bits.training_bitops");
    s->inference_bitops += hu_json_real(result, "bits.inference_bitops");
}

/* Sums become means over the runs that ended well; NaN where none did. */
static void divide(summary *s) {
    double *sums[] = {&s->low_ratio,
                      &s->aggregate_start,
                      &s->aggregate,
                      &s->aggregate_mean,
                      &s->rss,
                      &s->rate,
                      &s->loss,
                      &s->promoted,
                      &s->skipped,
                      &s->training_cost,
                      &s->inference_cost,
                      &s->training_bitops,
                      &s->inference_bitops};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        *sums[i] = s->done ? *sums[i] / s->done : (double)NAN;
    s->value = hu_spread_mean(&s->last_spread);
    s->deviation = hu_spread_deviation(&s->last_spread);
    s->best = hu_spread_mean(&s->best_spread);
    s->best_deviation = hu_spread_deviation(&s->best_spread);
}

static double across(const summary *s, int axis) {
    const double x[AXES] = {[BY_MEMORY] = s->memory,
                            [BY_TRAINING] = s->training_cost,
                            [BY_INFERENCE] = s->inference_cost,
                            [BY_RATIO] = s->low_ratio};
    return x[axis];
}

/* Whether both see the same samples of the same model, quantised in the same layers. */
static bool is_same_work(const summary *a, const summary *b) {
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
static void share_measure(summary *all, int count) {
    for (int i = 0; i < count; i++) {
        summary *s = &all[i];
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

/* A precision that diverged or collapsed with any seed, or has another metric, is on no front. */
static bool is_sound(const hu_metric *metric, const summary *s, int axis) {
    bool is_whole = s->done > 0 && s->done == s->runs && s->collapsed == 0;
    return is_whole && s->run->metric == metric && isfinite(s->value) && isfinite(across(s, axis));
}

/* As good with at most as much of what is across, and better in one. */
static bool beats(const hu_metric *metric, const summary *a, const summary *b, int axis) {
    double mine = across(a, axis), other = across(b, axis);
    if (hu_metric_is_better(metric, b->value, a->value) || mine > other) return false;
    return hu_metric_is_better(metric, a->value, b->value) || mine < other;
}

static void mark_front(const hu_metric *metric, summary *all, int count, int axis) {
    for (int i = 0; i < count; i++) {
        all[i].is_front[axis] = is_sound(metric, &all[i], axis);
        for (int k = 0; k < count; k++)
            if (is_sound(metric, &all[k], axis) && beats(metric, &all[k], &all[i], axis))
                all[i].is_front[axis] = false;
    }
}

/* One summary for each precision, of all its seeds. */
static hu_status summarise(const hu_report *report, summary **all) {
    hu_status st = HU_NEW_ARRAY(all, (size_t)report->precisions + 1);
    if (st != HU_OK) return st;
    for (int i = 0; i < report->precisions; i++)
        (*all)[i] = (summary){.least = (double)NAN, .most = (double)NAN, .memory = (double)NAN};
    for (size_t i = 0; i < report->count; i++) {
        const hu_report_run *run = &report->run[i];
        summary *own = &(*all)[run->number];
        if (run->is_first) own->run = run;
        add_run(run, own);
    }
    for (int i = 0; i < report->precisions; i++) divide(&(*all)[i]);
    share_measure(*all, report->precisions);
    for (int axis = 0; axis < FRONTS; axis++)
        mark_front(report->metric, *all, report->precisions, axis);
    return HU_OK;
}

static const char *name_of(const summary *s) {
    return s->run->name;
}

/* Points are precisions that ended or diverged, and that have the metric of the picture. */
static bool is_shown(const hu_report *report, const summary *s) {
    return s->run->metric == report->metric && s->done + s->diverged > 0;
}

/* The tip of a point. */
static void tell(const summary *s, double x, const char *what, char *tip, size_t capacity) {
    char value[HU_METRIC_TEXT_BYTES], least[HU_METRIC_TEXT_BYTES], most[HU_METRIC_TEXT_BYTES];
    const hu_metric *metric = s->run->metric;
    hu_metric_text(metric, s->value, value);
    if (s->collapsed > 0)
        snprintf(tip, capacity, "%.150s: %s, %d of %d runs collapsed, %s %.4g", name_of(s), value,
                 s->collapsed, s->runs, what, x);
    else if (s->done == 0)
        snprintf(tip, capacity, "%.150s: diverged, %s %.4g", name_of(s), what, x);
    else if (s->done > 1)
        snprintf(tip, capacity, "%.150s: %s (%s to %s, %d seeds), %s %.4g", name_of(s), value,
                 hu_metric_number(metric, s->least, least), hu_metric_number(metric, s->most, most),
                 s->done, what, x);
    else
        snprintf(tip, capacity, "%.150s: %s, %s %.4g", name_of(s), value, what, x);
}

static void draw_points(hu_page *page, const hu_report *report, const summary *all, int axis) {
    enum { TIP = 480 };
    static const char *const titles[AXES] = {
        "memory of training, MiB", "training cost, of that with the most bits",
        "inference cost, of that with the most bits", "mean low-precision ratio"};
    static const char *const units[AXES] = {"MiB", "training cost", "inference cost",
                                            "low-precision ratio"};
    const hu_metric *metric = report->metric;
    char words[HU_METRIC_TEXT_BYTES], title[sizeof words + 40];
    int count = report->precisions;
    hu_chart_point *point = NULL;
    char(*tips)[TIP] = NULL;
    size_t used = 0;
    hu_status st;
    snprintf(title, sizeof title, "test %s%s", hu_metric_axis(metric, words),
             metric->higher_is_better ? "" : " (lower is better)");
    HU_TRY(HU_NEW_ARRAY(&point, (size_t)count));
    HU_TRY(HU_NEW_ARRAY(&tips, (size_t)count));
    for (int i = 0; i < count; i++) {
        const summary *s = &all[i];
        double x = across(s, axis);
        char *tip = tips[used];
        if (!is_shown(report, s) || !isfinite(x)) continue;
        bool has_range = s->done > 1;
        tell(s, x, units[axis], tip, TIP);
        point[used++] =
            (hu_chart_point){.label = name_of(s),
                             .tip = tip,
                             .x = x,
                             .y = metric->factor * s->value,
                             .least = has_range ? metric->factor * s->least : (double)NAN,
                             .most = has_range ? metric->factor * s->most : (double)NAN,
                             .series = s->run->family_number,
                             .is_front = axis < FRONTS && s->is_front[axis],
                             .is_absent = !isfinite(s->value)};
    }
    hu_chart_axes axes = {.x_title = titles[axis],
                          .y_title = title,
                          .front_title = "front: nothing is better in both",
                          .lower_is_better = !metric->higher_is_better};
    if (axis >= FRONTS) axes.front_title = NULL;
    if (used > 0) hu_chart_points(page, point, used, &axes);
done:
    if (st != HU_OK && page->status == HU_OK) page->status = st;
    hu_free(point);
    hu_free(tips);
}

/* The legend: one colour for each family of precisions. */
static void draw_families(hu_page *page, const hu_report *report) {
    hu_legend_item item[64];
    size_t count = 0;
    for (int f = 0; f < report->families && count < 64; f++)
        for (size_t i = 0; i < report->count; i++)
            if (report->run[i].family_number == f && report->run[i].metric == report->metric) {
                item[count++] = (hu_legend_item){report->run[i].family, f};
                break;
            }
    hu_legend_draw(page, item, count, HU_LEGEND_MARKS);
}

/* A number with so many places ("2"); "-" for NaN. */
static void number_cell(hu_page *page, const char *format, double value) {
    char text[64];
    if (isnan(value)) {
        hu_html_number(page, "-");
        return;
    }
    snprintf(text, sizeof text, "%.*f", format[0] - '0', value);
    hu_html_number(page, text);
}

/* "8.1 to 8.3, 8.2": at the start, at the end and in the mean where they differ. */
static void aggregate_cell(hu_page *page, const summary *s) {
    char text[120];
    bool changes = fabs(s->aggregate_start - s->aggregate) > 0.0 ||
                   fabs(s->aggregate_mean - s->aggregate) > 0.0;
    if (!changes) {
        number_cell(page, "1", s->aggregate);
        return;
    }
    snprintf(text, sizeof text, "%.3g to %.3g, %.3g", s->aggregate_start, s->aggregate,
             s->aggregate_mean);
    hu_html_number(page, text);
}

/* "75.70 ± 0.10": without the deviation of one run. */
static const char *with_deviation(const hu_metric *metric, double value, double deviation,
                                  char text[3 * HU_METRIC_TEXT_BYTES]) {
    char mean[HU_METRIC_TEXT_BYTES], spread[HU_METRIC_TEXT_BYTES];
    hu_metric_number(metric, value, mean);
    snprintf(text, 3 * HU_METRIC_TEXT_BYTES, "%s%s%s", mean, isnan(deviation) ? "" : " ± ",
             isnan(deviation) ? "" : hu_metric_number(metric, deviation, spread));
    return text;
}

/* Mean, range and best. Numbers of another metric than the titles' say what they are. */
static void put_metric(hu_page *page, const hu_metric *metric, const summary *s) {
    const hu_metric *own = s->run->metric;
    char value[HU_METRIC_TEXT_BYTES], most[HU_METRIC_TEXT_BYTES], words[HU_METRIC_TEXT_BYTES];
    char text[3 * HU_METRIC_TEXT_BYTES];
    bool is_other = own != metric;
    if (is_other)
        snprintf(text, sizeof text, "%s %s", hu_metric_words(own, words),
                 hu_metric_text(own, s->value, value));
    else
        with_deviation(own, s->value, s->deviation, text);
    hu_html_number(page, text);
    snprintf(text, sizeof text, "%s–%s", hu_metric_number(own, s->least, value),
             hu_metric_number(own, s->most, most));
    hu_html_number(page, s->done > 1 ? text : "-");
    hu_html_number(page, is_other ? hu_metric_text(own, s->best, value)
                                  : with_deviation(own, s->best, s->best_deviation, text));
}

/* The columns that a page has beside those of every page. */
typedef struct columns {
    bool costs; /* of bits */
    bool low;   /* low precision, and promotions out of it */
} columns;

static void put_row(hu_page *page, const hu_metric *metric, const summary *s, columns has) {
    char text[220];
    snprintf(text, sizeof text, "%.200s%s", name_of(s), s->is_front[BY_MEMORY] ? " *" : "");
    hu_html_row(page, s->is_front[BY_MEMORY]);
    hu_html_text(page, text);
    put_metric(page, metric, s);
    if (has.costs) {
        number_cell(page, "3", s->training_cost);
        number_cell(page, "3", s->inference_cost);
    }
    if (has.low) number_cell(page, "3", s->low_ratio);
    aggregate_cell(page, s);
    number_cell(page, "1", s->memory);
    number_cell(page, "1", s->rss);
    number_cell(page, "0", s->rate);
    if (has.low) number_cell(page, "1", s->promoted);
    number_cell(page, "1", s->skipped);
    snprintf(text, sizeof text, "%d of %d", s->done, s->runs);
    hu_html_number(page, text);
    snprintf(text, sizeof text, "%d", s->collapsed);
    hu_html_number(page, s->done > 0 ? text : "-");
    hu_html_row_end(page);
}

/* Whether any precision has a schedule of bits. */
static bool any_costs(const hu_report *report, const summary *all) {
    for (int i = 0; i < report->precisions; i++)
        if (isfinite(all[i].training_cost)) return true;
    return false;
}

static bool any_low(const hu_report *report, const summary *all) {
    double most = 0.0;
    for (int i = 0; i < report->precisions; i++)
        if (isfinite(all[i].low_ratio)) most = fmax(most, all[i].low_ratio);
    return most > (any_costs(report, all) ? least_ratio : 0.0);
}

static void put_table(hu_page *page, const hu_report *report, const summary *all) {
    const hu_metric *metric = report->metric;
    char words[HU_METRIC_TEXT_BYTES], value[2 * sizeof words], best[sizeof words];
    const columns has = {.costs = any_costs(report, all),
                         .low = !any_costs(report, all) || any_low(report, all)};
    snprintf(value, sizeof value, "%s%s", hu_metric_words(metric, words), metric->unit);
    snprintf(best, sizeof best, "best%s", metric->unit);
    const struct {
        const char *title;
        bool is_there;
    } column[] = {{"precision", true},    {value, true},           {"range", true},
                  {best, true},           {"training", has.costs}, {"inference", has.costs},
                  {"low ratio", has.low}, {"aggregate", true},     {"memory", true},
                  {"RSS", true},          {"images/s", true},      {"promoted", has.low},
                  {"skipped", true},      {"ended", true},         {"collapsed", true}};
    const char *titles[sizeof column / sizeof *column];
    size_t count = 0;
    for (size_t i = 0; i < sizeof column / sizeof *column; i++)
        if (column[i].is_there) titles[count++] = column[i].title;
    hu_html_table(page, titles, count, 1);
    for (int i = 0; i < report->precisions; i++) put_row(page, metric, &all[i], has);
    hu_html_table_end(page);
}

/* Why runs diverged or collapsed, in the words of their result. */
static void put_endings(hu_page *page, const hu_report *report) {
    static const char *const endings[] = {"diverged", "collapsed"};
    char text[1400];
    for (size_t i = 0; i < report->count; i++)
        for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
            const json_t *why = json_object_get(report->run[i].result, endings[e]);
            if (!why) continue;
            snprintf(text, sizeof text, "%s %s: %.1000s", report->run[i].label, endings[e],
                     json_string_value(why));
            hu_html_note(page, text);
        }
}

/* The weights that the runs were evaluated with: rows that differ in them are not alike. */
static void put_weights(hu_page *page, const hu_report *report) {
    if (report->count == 0) return;
    const char *first = hu_report_text(&report->run[0], "eval.weights", "?");
    bool is_one = true;
    char text[200];
    for (size_t i = 0; i < report->count; i++) {
        const char *own = hu_report_text(&report->run[i], "eval.weights", "?");
        is_one = is_one && strcmp(own, first) == 0;
    }
    if (is_one)
        snprintf(text, sizeof text, "Evaluated with the %s weights.", first);
    else
        snprintf(text, sizeof text,
                 "Some runs were evaluated with the float32 masters, others "
                 "with rounded weights: see eval.weights in the settings.");
    if (strcmp(first, "?") != 0) hu_html_note(page, text);
}

/* Against what bits cost: the first pictures of a page that has such. */
static void put_costs(hu_page *page, const hu_report *report, const summary *all,
                      const char *heading) {
    char title[HU_METRIC_TEXT_BYTES + 60];
    snprintf(title, sizeof title, "%s against the cost of training", heading);
    hu_html_heading(page, title);
    draw_points(page, report, all, BY_TRAINING);
    snprintf(title, sizeof title, "%s against the cost of inference", heading);
    hu_html_heading(page, title);
    draw_points(page, report, all, BY_INFERENCE);
    snprintf(title, sizeof title, "%s against memory", heading);
    hu_html_heading(page, title);
}

/* The pictures: against costs where bits have any, against memory, and where much is low, against
 * the low-precision ratio. */
static void put_pictures(hu_page *page, const hu_report *report, const summary *all) {
    char heading[HU_METRIC_TEXT_BYTES], title[sizeof heading + 40];
    bool has_costs = any_costs(report, all);
    hu_metric_heading(report->metric, heading);
    snprintf(title, sizeof title, "%s against %s", heading, has_costs ? "costs" : "memory");
    hu_html_section(
        page, "pareto", title,
        has_costs
            ? "Costs are bit-operations, of all steps and of one sample of the trained model, over "
              "those of the same with the most bits that any run may have in all layers. Memory is "
              "what training allocates on this machine. Bars are the range over seeds."
            : "Memory is what training allocates: arena, masters, optimizer and workers. Bars "
              "are the range over seeds.");
    draw_families(page, report);
    if (has_costs) put_costs(page, report, all, heading);
    draw_points(page, report, all, BY_MEMORY);
    if (any_low(report, all)) {
        snprintf(title, sizeof title, "%s against the low-precision ratio", heading);
        hu_html_heading(page, title);
        draw_points(page, report, all, BY_RATIO);
    }
    hu_report_left_out(page, report);
    hu_html_section_end(page);
}

void hu_report_overview(hu_page *page, const hu_report *report) {
    summary *all;
    char heading[HU_METRIC_TEXT_BYTES], lead[600];
    hu_status st = summarise(report, &all);
    if (st != HU_OK) {
        if (page->status == HU_OK) page->status = st;
        return;
    }
    int points = 0;
    for (int i = 0; i < report->precisions; i++)
        points += is_shown(report, &all[i]) && isfinite(all[i].memory);
    /* A front needs more than one point. */
    if (points > 1) put_pictures(page, report, all);
    snprintf(
        lead, sizeof lead,
        "%s is that of the last evaluation: mean ± standard deviation over the seeds that ended; "
        "best: the same of each run's best evaluation. %sAggregate (all tensors of a batch in "
        "their formats; where it changes, from start to end, and the mean over the steps), memory "
        "and peak RSS are in MiB.%s",
        hu_metric_heading(report->metric, heading),
        any_costs(report, all) ? "Training and inference: bit-operations, over those with the "
                                 "most bits. "
                               : "",
        points > 1 ? " * stands on the front against memory." : "");
    hu_html_section(page, "results", "Results", lead);
    put_table(page, report, all);
    put_weights(page, report);
    put_endings(page, report);
    hu_html_section_end(page);
    hu_free(all);
}
