/* The metric against what bits cost, against memory and against the share of low precision; the
 * table of results. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "render/chart.h"
#include "render/html.h"
#include "report/internal.h"

/* Which runs broke or are in trouble, where, and what to try: the first sentences of a page */

enum { MOST = 3, TEXT_BYTES = 2400, FIRST_BYTES = 300 };

/* How a run may break, as its result says. */
static const struct {
    const char *key, *word;
} kinds[] = {{"diverged", "broke"}, {"collapsed", "learned nothing in the end"}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* NULL: it did not break. */
static const char *reason_of(const hu_report_run *run, int *kind) {
    for (int k = 0; k < KINDS; k++) {
        const char *why = json_string_value(json_object_get(run->result, kinds[k].key));
        *kind = k;
        if (why) return why;
    }
    return NULL;
}

/* Steps that the run did and those that it was to do, where it ended before. */
static void put_place(const hu_report_run *run, char *text, size_t capacity) {
    double steps = hu_json_real(run->result, "steps");
    const char *all = hu_report_text(run, "run.steps", "auto");
    text[0] = '\0';
    if (json_object_get(run->result, "diverged") && steps >= 0.0)
        snprintf(text, capacity, " after %.0f%s%.20s steps", steps,
                 strcmp(all, "auto") == 0 ? "" : " of ", strcmp(all, "auto") == 0 ? "" : all);
}

static void put_run(hu_page *page, const hu_report *report, const hu_report_run *run) {
    char first[FIRST_BYTES], text[TEXT_BYTES], place[64];
    int kind;
    const char *why = reason_of(run, &kind);
    put_place(run, place, sizeof place);
    if (report->count == 1)
        snprintf(first, sizeof first, "This run %s%s.", kinds[kind].word, place);
    else
        snprintf(first, sizeof first, "%.200s %s%s.", run->label, kinds[kind].word, place);
    snprintf(text, sizeof text,
             "%.1000s. What to try: `halfulp why %.400s` names the cause and what would repair it, "
             "`halfulp why %.400s try=1` trains it again so.",
             why, run->folder, run->folder);
    hu_html_alarm(page, first, text);
}

static bool is_broken(const hu_report_run *run) {
    int kind;
    return reason_of(run, &kind) != NULL;
}

/* Of a run that came to its end, by the measure of what the training told. */
static bool is_in_trouble(const hu_report_run *run) {
    return !is_broken(run) && hu_is_in_trouble(&run->trouble);
}

static void put_trouble(hu_page *page, const hu_report *report, const hu_report_run *run) {
    char first[FIRST_BYTES], text[TEXT_BYTES], words[HU_TROUBLE_BYTES];
    snprintf(first, sizeof first, "%.200s lost numbers to rounding.",
             report->count == 1 ? "This run" : run->label);
    hu_trouble_words(&run->trouble, words);
    snprintf(text, sizeof text,
             "%c%s. `halfulp why %.400s` says whether that did harm, and what would repair it.",
             words[0] >= 'a' && words[0] <= 'z' ? words[0] - 'a' + 'A' : words[0], words + 1,
             run->folder);
    hu_html_alarm(page, first, text);
}

/* The first of the runs that are so; of the others how many. */
static void put_all(hu_page *page, const hu_report *report, bool (*has)(const hu_report_run *run),
                    void (*put)(hu_page *page, const hu_report *report, const hu_report_run *run),
                    const char *more) {
    int all = 0;
    char text[160];
    for (size_t i = 0; i < report->count; i++)
        if (has(&report->run[i]) && all++ < MOST) put(page, report, &report->run[i]);
    snprintf(text, sizeof text, "%d more run%s %s", all - MOST, all - MOST == 1 ? "" : "s", more);
    if (all > MOST) hu_html_note(page, text);
}

void hu_report_endings(hu_page *page, const hu_report *report) {
    put_all(page, report, is_broken, put_run,
            "broke or learned nothing: see the notes below the results.");
    put_all(page, report, is_in_trouble, put_trouble,
            "lost numbers to rounding: see what rounding lost.");
}

/* Below such a share of low precision, or above the rest of it, there is nothing to draw: of a
 * schedule of bits the copies of weights alone count. */
static const double least_ratio = 0.01;

static const char *name_of(const hu_summary *s) {
    return s->run->name;
}

/* Points are precisions that ended or diverged, and that have the metric of the picture. */
static bool is_shown(const hu_report *report, const hu_summary *s) {
    return s->run->metric == report->metric && s->done + s->diverged > 0;
}

/* The tip of a point. */
static void tell(const hu_summary *s, double x, const char *what, char *tip, size_t capacity) {
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

static void draw_points(hu_page *page, const hu_report *report, const hu_summary *all, int axis) {
    enum { TIP = 480 };
    static const char *const titles[HU_AXES] = {
        "memory of training, MiB", "training cost, of that with the most bits",
        "inference cost, of that with the most bits", "mean low-precision ratio"};
    static const char *const units[HU_AXES] = {"MiB", "training cost", "inference cost",
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
        const hu_summary *s = &all[i];
        double x = hu_summary_across(s, axis);
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
                             .is_front = axis < HU_FRONTS && s->is_front[axis],
                             .is_far = s->is_far,
                             .is_absent = !isfinite(s->value)};
    }
    hu_chart_axes axes = {.x_title = titles[axis],
                          .y_title = title,
                          .front_title = "front: nothing is better in both",
                          .lower_is_better = !metric->higher_is_better};
    if (axis >= HU_FRONTS) axes.front_title = NULL;
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
static void aggregate_cell(hu_page *page, const hu_summary *s) {
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

/* "0.39 ~": after the best, and whether that is within the noise. */
static void put_behind(hu_page *page, const hu_metric *metric, const hu_summary *s) {
    char number[HU_METRIC_TEXT_BYTES], text[sizeof number + 4];
    hu_metric_number(metric, s->behind, number);
    snprintf(text, sizeof text, "%s%s", number, s->is_noise ? " ~" : "");
    hu_html_number(page, isnan(s->behind) ? "-" : s->behind == 0.0 ? "0" : text);
}

/* Mean, range and best. Numbers of another metric than the titles' say what they are. */
static void put_metric(hu_page *page, const hu_metric *metric, const hu_summary *s,
                       bool has_behind) {
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
    if (has_behind) put_behind(page, own, s);
    hu_html_number(page, is_other ? hu_metric_text(own, s->best, value)
                                  : with_deviation(own, s->best, s->best_deviation, text));
}

/* The columns that a page has beside those of every page. */
typedef struct columns {
    bool costs;                        /* of bits */
    bool low;                          /* low precision */
    bool behind;                       /* the best: of several precisions */
    bool weights;                      /* that runs were evaluated with, where they differ */
    bool promoted, skipped, collapsed; /* where any run has such */
} columns;

static void put_row(hu_page *page, const hu_metric *metric, const hu_summary *s, columns has) {
    char text[220];
    bool is_front = has.behind && s->is_front[HU_BY_MEMORY];
    snprintf(text, sizeof text, "%.200s%s", name_of(s),
             is_front    ? " *"
             : s->is_far ? " (far below)"
                         : "");
    hu_html_row(page, is_front);
    hu_html_text(page, text);
    put_metric(page, metric, s, has.behind);
    if (has.weights) hu_html_text(page, hu_report_text(s->run, "eval.weights", "?"));
    if (has.costs) {
        number_cell(page, "3", s->training_cost);
        number_cell(page, "3", s->inference_cost);
    }
    if (has.low) number_cell(page, "3", s->low_ratio);
    aggregate_cell(page, s);
    number_cell(page, "1", s->memory);
    number_cell(page, "1", s->rss);
    number_cell(page, "0", s->rate);
    if (has.promoted) number_cell(page, "1", s->promoted);
    if (has.skipped) number_cell(page, "1", s->skipped);
    snprintf(text, sizeof text, "%d of %d", s->done, s->runs);
    hu_html_number(page, text);
    snprintf(text, sizeof text, "%d", s->collapsed);
    if (has.collapsed) hu_html_number(page, s->done > 0 ? text : "-");
    hu_html_row_end(page);
}

/* Whether any precision has a schedule of bits. */
static bool any_costs(const hu_report *report, const hu_summary *all) {
    for (int i = 0; i < report->precisions; i++)
        if (isfinite(all[i].training_cost)) return true;
    return false;
}

static bool any_low(const hu_report *report, const hu_summary *all) {
    double most = 0.0;
    for (int i = 0; i < report->precisions; i++)
        if (isfinite(all[i].low_ratio)) most = fmax(most, all[i].low_ratio);
    return most > (any_costs(report, all) ? least_ratio : 0.0);
}

/* Whether the ratio is a choice that runs make differently, not all or nothing. */
static bool varies(const hu_report *report, const hu_summary *all) {
    for (int i = 0; i < report->precisions; i++)
        if (all[i].low_ratio > 2.0 * least_ratio && all[i].low_ratio < 1.0 - 2.0 * least_ratio)
            return true;
    return false;
}

/* Whether runs were evaluated with different weights. */
static bool any_weights(const hu_report *report) {
    for (size_t i = 1; i < report->count; i++)
        if (strcmp(hu_report_text(&report->run[i], "eval.weights", "?"),
                   hu_report_text(&report->run[0], "eval.weights", "?")) != 0)
            return true;
    return false;
}

/* Columns of zeros alone would say nothing. */
static columns find_columns(const hu_report *report, const hu_summary *all) {
    columns has = {.costs = any_costs(report, all),
                   .low = any_low(report, all),
                   .behind = report->precisions > 1,
                   .weights = any_weights(report)};
    for (int i = 0; i < report->precisions; i++) {
        has.promoted = has.promoted || all[i].promoted > 0.0;
        has.skipped = has.skipped || all[i].skipped > 0.0;
        has.collapsed = has.collapsed || all[i].collapsed > 0;
    }
    return has;
}

/* What a second's rate counts: tokens of texts, pictures or whatever the samples are. */
static const char *rate_title(const hu_report *report) {
    size_t texts = 0;
    for (size_t i = 0; i < report->count; i++)
        texts += json_object_get(report->run[i].result, "tokens_per_second") != NULL;
    if (texts == 0) return "samples/s";
    return texts == report->count ? "tokens/s" : "samples or tokens/s";
}

static void put_table(hu_page *page, const hu_report *report, const hu_summary *all) {
    const hu_metric *metric = report->metric;
    char words[HU_METRIC_TEXT_BYTES], value[2 * sizeof words], best[sizeof words];
    const columns has = find_columns(report, all);
    snprintf(value, sizeof value, "%s%s", hu_metric_words(metric, words), metric->unit);
    snprintf(best, sizeof best, "best%s", metric->unit);
    const struct {
        const char *title;
        bool is_present;
    } column[] = {{"precision", true},
                  {value, true},
                  {"range", true},
                  {"behind the best", has.behind},
                  {best, true},
                  {"weights", has.weights},
                  {"training", has.costs},
                  {"inference", has.costs},
                  {"low ratio", has.low},
                  {"aggregate MiB", true},
                  {"memory MiB", true},
                  {"RSS MiB", true},
                  {rate_title(report), true},
                  {"promoted", has.promoted},
                  {"skipped", has.skipped},
                  {"ended", true},
                  {"collapsed", has.collapsed}};
    const char *titles[sizeof column / sizeof *column];
    size_t count = 0;
    for (size_t i = 0; i < sizeof column / sizeof *column; i++)
        if (column[i].is_present) titles[count++] = column[i].title;
    hu_html_table(page, titles, count, 1);
    for (int i = 0; i < report->precisions; i++) put_row(page, metric, &all[i], has);
    hu_html_table_end(page);
}

/* The columns that do not explain themselves. */
static void put_meanings(hu_page *page, bool has_costs) {
    hu_html_details(page, "What the columns say", false);
    hu_html_paragraph(page,
                      "Best: that of each run's best evaluation. Far below: further below the "
                      "best than five times the distance of the median, than two units, and "
                      "than noise; such a precision is on no front.");
    if (has_costs)
        hu_html_paragraph(page, "Training, inference: bit-operations, over those with the most "
                                "bits in all layers.");
    hu_html_paragraph(page, "Low ratio: the share of all numbers that are in low precision. "
                            "Aggregate: all tensors of a batch in their formats, MiB; where it "
                            "changes, from start to end, and the mean over the steps.");
    hu_html_paragraph(page, "Memory: what training allocates, MiB. RSS: the most that the process "
                            "had, data set and libraries included, MiB.");
    hu_html_paragraph(page,
                      "Promoted: tensors that went from low to high precision. Skipped: steps "
                      "without an update, as gradients were not finite. Collapsed: runs that "
                      "ended where guessing does, or far from their own best.");
    hu_html_details_end(page);
}

/* Why runs of several diverged or collapsed, in the words of their result; the page begins with the
 * first of them (endings.c). */
static void put_endings(hu_page *page, const hu_report *report) {
    static const char *const endings[] = {"diverged", "collapsed"};
    char text[1800];
    for (size_t i = 0; i < report->count && report->count > 1; i++)
        for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
            const json_t *why = json_object_get(report->run[i].result, endings[e]);
            if (!why) continue;
            snprintf(text, sizeof text, "%s %s: %.1000s. More: halfulp why %.200s",
                     report->run[i].label, endings[e], json_string_value(why),
                     report->run[i].folder);
            hu_html_note(page, text);
        }
}

/* Whether any run was evaluated with running means of its weights. */
static bool any_average(const hu_report *report) {
    for (size_t i = 0; i < report->count; i++)
        if (strcmp(hu_report_text(&report->run[i], "optimizer.average", "0"), "0") != 0 &&
            strcmp(hu_report_text(&report->run[i], "eval.average", "on"), "on") == 0)
            return true;
    return false;
}

/* The weights that the runs were evaluated with: rows that differ in them are not alike. */
static void put_weights(hu_page *page, const hu_report *report) {
    if (report->count == 0) return;
    const char *first = hu_report_text(&report->run[0], "eval.weights", "?");
    const char *means = any_average(report) ? ", of runs with optimizer.average their means" : "";
    char text[200];
    if (any_weights(report))
        snprintf(text, sizeof text,
                 "Evaluations differ: master are the float32 weights, rounded the weights in their "
                 "formats%s.",
                 means);
    else
        snprintf(text, sizeof text, "Evaluated with the %s weights%s.", first, means);
    if (strcmp(first, "?") != 0) hu_html_note(page, text);
}

static void draw_panel(hu_page *page, const hu_report *report, const hu_summary *all, int axis,
                       const char *title) {
    hu_html_panel(page, title);
    draw_points(page, report, all, axis);
    hu_html_panel_end(page);
}

/* Against what bits cost: the first pictures of a page that has such. */
static void put_costs(hu_page *page, const hu_report *report, const hu_summary *all,
                      const char *heading) {
    char title[HU_METRIC_TEXT_BYTES + 60];
    snprintf(title, sizeof title, "%s against the cost of training", heading);
    draw_panel(page, report, all, HU_BY_TRAINING, title);
    snprintf(title, sizeof title, "%s against the cost of inference", heading);
    draw_panel(page, report, all, HU_BY_INFERENCE, title);
}

/* The pictures: against costs where bits have any, against memory, and where much is low, against
 * the low-precision ratio. */
static void put_pictures(hu_page *page, const hu_report *report, const hu_summary *all) {
    char heading[HU_METRIC_TEXT_BYTES], title[sizeof heading + 40];
    bool has_costs = any_costs(report, all), has_ratio = varies(report, all);
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
    hu_html_panels(page);
    if (has_costs) put_costs(page, report, all, heading);
    snprintf(title, sizeof title, "%s against memory", heading);
    draw_panel(page, report, all, HU_BY_MEMORY, has_costs || has_ratio ? title : NULL);
    snprintf(title, sizeof title, "%s against the low-precision ratio", heading);
    if (has_ratio) draw_panel(page, report, all, HU_BY_RATIO, title);
    hu_html_panels_end(page);
    hu_report_left_out(page, report);
    hu_html_section_end(page);
}

/* What ~ means: of one seed each, nothing is known of seeds. */
static const char *noise_words(const hu_report *report) {
    if (report->precisions < 2) return "";
    if (report->count > (size_t)report->precisions)
        return " ~ is behind the best by no more than the seeds scatter (95 %).";
    return " One seed each: nothing is known of how far other seeds would scatter; ~ is behind the "
           "best by no more than the test samples leave open (95 %).";
}

void hu_report_overview(hu_page *page, const hu_report *report) {
    hu_summary *all;
    char heading[HU_METRIC_TEXT_BYTES], lead[600];
    hu_status st = hu_report_summarise(report, &all);
    if (st != HU_OK) {
        if (page->status == HU_OK) page->status = st;
        return;
    }
    int points = 0;
    for (int i = 0; i < report->precisions; i++)
        points += is_shown(report, &all[i]) && isfinite(all[i].memory);
    /* A front needs more than one point. */
    if (points > 1) put_pictures(page, report, all);
    snprintf(lead, sizeof lead, "%s of the last evaluation%s.%s%s",
             hu_metric_heading(report->metric, heading),
             report->count > (size_t)report->precisions
                 ? ", mean ± standard deviation over the seeds that ended"
                 : "",
             points > 1 ? " * stands on the front against memory." : "", noise_words(report));
    hu_html_section(page, "results", "Results", lead);
    put_table(page, report, all);
    put_meanings(page, any_costs(report, all));
    put_weights(page, report);
    put_endings(page, report);
    hu_html_section_end(page);
    hu_free(all);
}
