/* report/reductions.c - the numbers of a study, for people and for programs. */
#include "report/reductions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "comm/plan.h"
#include "render/chart.h"
#include "render/html.h"
#include "render/table.h"

static void append(char *text, const char *option) {
    hu_note_add(text, HU_REDUCTION_TEXT_BYTES, "", "+%s", option);
}

void hu_reduction_name(const hu_comm_options *options, hu_reduction_names *names) {
    hu_comm_schedule_print(options->schedule, options->group, names->schedule,
                           sizeof names->schedule);
    hu_comm_scaling_print(options->scaling, options->constant, names->scaling,
                          sizeof names->scaling);
    if (options->scaling->code)
        hu_comm_code_print(options, names->format, sizeof names->format);
    else if (hu_format_print(&options->format, names->format, sizeof names->format) != HU_OK)
        names->format[0] = '\0';
    if (options->rounding != HU_ROUND_NEAREST_EVEN)
        append(names->scaling, hu_rounding_name(options->rounding));
    if (options->kahan) append(names->scaling, "kahan");
    if (options->error_feedback) append(names->scaling, "feedback");
}

/* Layer of given gradients with the largest relative L2 error; -1: the gradients were drawn. */
static int32_t reduction_worst(const hu_gradient_study *study,
                               const hu_gradient_study_outcome *outcome) {
    int32_t worst = -1;
    for (int32_t l = 0; outcome->layer && l < study->given.layers; l++)
        if (worst < 0 || outcome->layer[l].relative_l2 > outcome->layer[worst].relative_l2)
            worst = l;
    return worst;
}

/* Whether no case of the same format, of several, has a smaller L2 error. */
static bool reduction_is_best(const hu_gradient_study *study, int32_t number) {
    double own = study->cases[number].outcome.error.relative_l2;
    hu_reduction_names names, other;
    int32_t rivals = 0;
    hu_reduction_name(&study->cases[number].options, &names);
    for (int32_t i = 0; i < study->count; i++) {
        hu_reduction_name(&study->cases[i].options, &other);
        if (i == number || strcmp(other.format, names.format) != 0) continue;
        rivals++;
        if (study->cases[i].outcome.error.relative_l2 < own) return false;
    }
    return rivals > 0 && isfinite(own);
}

static void describe_drawn(const hu_synthetic_gradient *gradient, const char *elements,
                           char *text) {
    int exponent;
    hu_note_add(text, HU_REDUCTION_LINE_BYTES, "", "%d workers, %s elements (rho %g, sigma %g",
                gradient->workers, elements, gradient->rho, gradient->sigma);
    if (gradient->magnitude == 1.0)
        hu_note_add(text, HU_REDUCTION_LINE_BYTES, "", ")");
    else if (frexp(gradient->magnitude, &exponent) == 0.5)
        hu_note_add(text, HU_REDUCTION_LINE_BYTES, "", ", magnitude 2^%d)", exponent - 1);
    else
        hu_note_add(text, HU_REDUCTION_LINE_BYTES, "", ", magnitude %g)", gradient->magnitude);
}

static void reduction_describe(const hu_gradient_study *study, char *text) {
    const hu_synthetic_gradient *gradient = &study->gradient;
    char elements[HU_GROUPED_BYTES];
    *text = '\0';
    hu_grouped(gradient->elements, elements);
    if (study->given.gradient)
        hu_note_add(text, HU_REDUCTION_LINE_BYTES, "", "%d workers, %s, %s elements in %d layers",
                    gradient->workers, study->given.origin, elements, study->given.layers);
    else
        describe_drawn(gradient, elements, text);
    hu_note_add(text, HU_REDUCTION_LINE_BYTES, "", ", seed %llu",
                (unsigned long long)gradient->seed);
    if (study->seeds > 1)
        hu_note_add(text, HU_REDUCTION_LINE_BYTES, "", " and the next %d: medians",
                    study->seeds - 1);
    if (study->reductions > 1)
        hu_note_add(text, HU_REDUCTION_LINE_BYTES, "", "; errors of the sum of %d steps",
                    study->reductions);
}

/* Shares in percent; the best L2 has a star, for which the others leave room. */
static hu_status add_errors(const hu_gradient_study *study, int32_t number, hu_table *table) {
    hu_status st = HU_OK;
    const hu_gradient_study_outcome *o = &study->cases[number].outcome;
    HU_TRY(hu_table_cell(table, "%.2f", 100.0 * o->error.eq5_mean));
    HU_TRY(hu_table_cell(table, "%.2f", 100.0 * o->error.median));
    HU_TRY(hu_table_cell(table, "%.2f %c", 100.0 * o->error.relative_l2,
                         reduction_is_best(study, number) ? '*' : ' '));
    HU_TRY(hu_table_cell(table, "%.2f", 100.0 * o->error.zeros));
    /* Of one seed there is no range. */
    if (study->seeds > 1)
        HU_TRY(hu_table_cell(table, "%.1f-%.1f", 100.0 * o->eq5_least, 100.0 * o->eq5_most));
done:
    return st;
}

static hu_status add_row(const hu_gradient_study *study, int32_t number, hu_table *table) {
    hu_status st = HU_OK;
    const hu_gradient_study_case *c = &study->cases[number];
    const hu_gradient_study_outcome *o = &c->outcome;
    hu_reduction_names names;
    char bytes[HU_GROUPED_BYTES], all[HU_GROUPED_BYTES];
    hu_reduction_name(&c->options, &names);
    HU_TRY(hu_table_cell(table, "%s", names.schedule));
    HU_TRY(hu_table_cell(table, "%s", names.format));
    HU_TRY(hu_table_cell(table, "%s", names.scaling));
    HU_TRY(add_errors(study, number, table));
    HU_TRY(
        hu_table_cell(table, "%s", hu_grouped((int64_t)o->time.traffic.bytes_per_worker, bytes)));
    HU_TRY(hu_table_cell(table, "%s", hu_grouped((int64_t)o->time.traffic.bytes, all)));
    HU_TRY(hu_table_cell(table, "%lld", (long long)o->time.traffic.steps));
    HU_TRY(hu_table_cell(table, "%.4g", 1e3 * o->time.seconds));
    int32_t worst = reduction_worst(study, o);
    if (worst >= 0)
        HU_TRY(hu_table_cell(table, "%s (%.2f %%)", study->given.layer[worst].name,
                             100.0 * o->layer[worst].relative_l2));
done:
    return st;
}

static hu_status make_table(const hu_gradient_study *study, hu_table **table) {
    const char *title[16] = {"schedule", "format", "scaling", "Eq. 5 %",
                             "median %", "L2 %  ", "zeros %"};
    hu_status st = HU_OK;
    int columns = 7;
    if (study->seeds > 1) title[columns++] = "Eq. 5 of seeds";
    title[columns++] = "bytes, busiest";
    title[columns++] = "bytes, all";
    title[columns++] = "steps";
    title[columns++] = "predicted ms";
    /* Of drawn gradients there is one layer. */
    if (study->given.gradient) title[columns++] = "largest L2";
    *table = NULL;
    HU_TRY(hu_table_create(title, columns, table));
    for (int32_t i = 0; i < study->count; i++) HU_TRY(add_row(study, i, *table));
    return HU_OK;
done:
    hu_table_free(*table);
    *table = NULL;
    return st;
}

hu_status hu_reductions_print(const hu_gradient_study *study) {
    hu_table *table = NULL;
    char line[HU_REDUCTION_LINE_BYTES];
    hu_status st = make_table(study, &table);
    if (st != HU_OK) return st;
    reduction_describe(study, line);
    printf("%s\n\n", line);
    st = hu_show_table(table);
    hu_table_free(table);
    if (st != HU_OK) return st;
    puts(
        "\nerrors against the exact sum: Eq. 5 of the APS paper (mean of |h - l| / |h|; sums near "
        "0 decide it), the median of\nthe same, the L2 norm of all (*: the least of a format), and "
        "the share that became zero. bytes: sent, headers and\nexponents included, by the busiest "
        "worker and by all. predicted: by the network alone, at link= and latency=");
    return HU_OK;
}

static json_t *error_json(const hu_gradient_study_outcome *o) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I}", "eq5_mean",
                     hu_json_number(o->error.eq5_mean), "median", hu_json_number(o->error.median),
                     "relative_l2", hu_json_number(o->error.relative_l2), "zeros",
                     hu_json_number(o->error.zeros), "eq5_least", hu_json_number(o->eq5_least),
                     "eq5_most", hu_json_number(o->eq5_most), "excluded",
                     (json_int_t)o->error.excluded, "nonfinite", (json_int_t)o->error.nonfinite);
}

static json_t *layers_json(const hu_gradient_study *study, const hu_gradient_study_outcome *o) {
    json_t *layers = json_array();
    for (int32_t l = 0; l < study->given.layers; l++)
        json_array_append_new(layers, json_pack("{s:s, s:I, s:b, s:o, s:o, s:o}", "name",
                                                study->given.layer[l].name, "elements",
                                                (json_int_t)study->given.layer[l].elements, "exact",
                                                study->given.layer[l].exact, "relative_l2",
                                                hu_json_number(o->layer[l].relative_l2), "eq5_mean",
                                                hu_json_number(o->layer[l].eq5_mean), "zeros",
                                                hu_json_number(o->layer[l].zeros)));
    return layers;
}

static json_t *case_json(const hu_gradient_study *study, const hu_gradient_study_case *c) {
    const hu_gradient_study_outcome *o = &c->outcome;
    hu_reduction_names names;
    char scaling[HU_REDUCTION_TEXT_BYTES];
    hu_reduction_name(&c->options, &names);
    hu_comm_scaling_print(c->options.scaling, c->options.constant, scaling, sizeof scaling);
    json_t *object = json_pack(
        "{s:i, s:s, s:s, s:s, s:s, s:b, s:b, s:I, s:i, s:i, s:I, s:I, s:I, s:I, s:o, s:o, s:o, "
        "s:o, s:o}",
        "workers", study->gradient.workers, "schedule", names.schedule, "format", names.format,
        "scaling", scaling, "rounding", hu_rounding_name(c->options.rounding), "kahan",
        c->options.kahan, "error_feedback", c->options.error_feedback, "elements",
        (json_int_t)study->gradient.elements, "seeds", study->seeds, "reductions",
        study->reductions, "bytes_on_wire", (json_int_t)o->time.traffic.bytes, "bytes_per_worker",
        (json_int_t)o->time.traffic.bytes_per_worker, "steps", (json_int_t)o->time.traffic.steps,
        "agreement_steps", (json_int_t)o->time.traffic.agreement_steps, "error", error_json(o),
        "result_hash", hu_json_hash(o->hash), "predicted_seconds", hu_json_number(o->time.seconds),
        "predicted_agreement_seconds", hu_json_number(o->time.agreement_seconds), "flush_workers",
        hu_json_number(o->flush_workers));
    if (!o->layer) return object;
    json_object_set_new(object, "gradients", json_string(study->given.origin));
    json_object_set_new(object, "layers", layers_json(study, o));
    return object;
}

static json_t *skipped_json(const hu_gradient_study *study) {
    json_t *skipped = json_array();
    for (int32_t i = 0; i < study->skipped; i++) {
        const hu_gradient_study_case *c = &study->cases[study->count + i];
        hu_reduction_names names;
        char scaling[HU_REDUCTION_TEXT_BYTES];
        hu_reduction_name(&c->options, &names);
        hu_comm_scaling_print(c->options.scaling, c->options.constant, scaling, sizeof scaling);
        json_array_append_new(skipped, json_pack("{s:s, s:s, s:s}", "schedule", names.schedule,
                                                 "scaling", scaling, "reason", c->misfit));
    }
    return skipped;
}

json_t *hu_reductions_json(const hu_gradient_study *study) {
    json_t *rows = json_array();
    for (int32_t i = 0; i < study->count; i++)
        json_array_append_new(rows, case_json(study, &study->cases[i]));
    json_t *object = study->count == 1 ? case_json(study, &study->cases[0]) : json_object();
    json_object_set_new(object, "rows", rows);
    json_object_set_new(object, "skipped", skipped_json(study));
    return object;
}

/* ---- The page ---- */

enum {
    SERIES_MOST = 24, /* colours times dashes */
    POINTS_MOST = 64,
    LABEL_BYTES = 256,
    LEFT_OUT_BYTES = 4096,
    LEAST_POWER = 1, /* workers of the pictures of time: 2^1 .. 2^10 */
    MOST_POWER = 10,
    RESNET50_PARAMETERS = 25557032
};

/* Lines of one picture, and the room for them. */
typedef struct picture {
    hu_chart_line line[SERIES_MOST];
    double x[SERIES_MOST][POINTS_MOST], y[SERIES_MOST][POINTS_MOST];
    char label[SERIES_MOST][LABEL_BYTES];
    size_t count;
    char left_out[LEFT_OUT_BYTES]; /* labels for which there was no room, as text */
} picture;

static void begin_picture(picture *p) {
    p->count = 0;
    p->left_out[0] = '\0';
}

/* Labels without room, each once: they come in the order of the cases. */
static void leave_out(picture *p, const char *label) {
    size_t length = strlen(label);
    for (const char *at = p->left_out; (at = strstr(at, label)) != NULL; at += length)
        if (at[length] == ';' || !at[length]) return;
    hu_note_add(p->left_out, LEFT_OUT_BYTES, "; ", "%s", label);
}

/* The line of that label, made where there is none yet; NULL where there is no room. */
static hu_chart_line *line_of(picture *p, const char *label) {
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->label[i], label) == 0) return &p->line[i];
    if (p->count == SERIES_MOST) {
        leave_out(p, label);
        return NULL;
    }
    size_t i = p->count++;
    snprintf(p->label[i], LABEL_BYTES, "%s", label);
    p->line[i] = (hu_chart_line){
        .label = p->label[i], .series = (int)i, .x = p->x[i], .y = p->y[i], .ended = (double)NAN};
    return &p->line[i];
}

/* Puts a point where its x belongs in its line: users list group sizes in any order. */
static void add_point(picture *p, const char *label, double x, double y) {
    hu_chart_line *line = line_of(p, label);
    if (!line) return;
    if (line->count == POINTS_MOST) {
        leave_out(p, label);
        return;
    }
    size_t row = (size_t)(line - p->line), at = line->count++;
    for (; at > 0 && p->x[row][at - 1] > x; at--) {
        p->x[row][at] = p->x[row][at - 1];
        p->y[row][at] = p->y[row][at - 1];
    }
    p->x[row][at] = x;
    p->y[row][at] = y;
}

static void draw(hu_page *page, const picture *p, bool is_log, const char *x, const char *y) {
    hu_legend_item item[SERIES_MOST];
    for (size_t i = 0; i < p->count; i++)
        item[i] = (hu_legend_item){p->label[i], p->line[i].series};
    hu_chart_powers(page, p->line, p->count, is_log, x, y);
    hu_legend_draw(page, item, p->count, HU_LEGEND_MARKS);
    if (!p->left_out[0]) return;
    char note[LEFT_OUT_BYTES + LABEL_BYTES];
    snprintf(note, sizeof note, "No colours are left for: %s. The table has all.", p->left_out);
    hu_html_note(page, note);
}

/* ---- errors ---- */

typedef double error_of(const hu_gradient_error *error);

static double eq5(const hu_gradient_error *error) {
    return error->eq5_mean;
}

static double relative_l2(const hu_gradient_error *error) {
    return error->relative_l2;
}

/* Whether case i is the first of its format, whose name is written to `format`. */
static bool is_new_format(const hu_gradient_study *study, int32_t i, char *format) {
    hu_reduction_names names, before;
    hu_reduction_name(&study->cases[i].options, &names);
    snprintf(format, HU_REDUCTION_TEXT_BYTES, "%s", names.format);
    for (int32_t k = 0; k < i; k++) {
        hu_reduction_name(&study->cases[k].options, &before);
        if (strcmp(before.format, format) == 0) return false;
    }
    return true;
}

/* One picture of a format, one line per kind of group and scaling. All workers are one group to a
 * schedule without groups, as the ring in the paper's Table 9. */
static void draw_format(hu_page *page, const hu_gradient_study *study, picture *p, error_of *error,
                        const char *format, const char *title) {
    begin_picture(p);
    for (int32_t i = 0; i < study->count; i++) {
        const hu_gradient_study_case *c = &study->cases[i];
        const hu_comm_schedule *schedule = c->options.schedule;
        hu_reduction_names names;
        char label[LABEL_BYTES];
        hu_reduction_name(&c->options, &names);
        if (strcmp(names.format, format) != 0) continue;
        snprintf(label, sizeof label, "%s%s, %.90s", schedule->name,
                 schedule->has_groups ? ":K" : "", names.scaling);
        add_point(p, label, schedule->has_groups ? c->options.group : study->gradient.workers,
                  100.0 * error(&c->outcome.error));
    }
    draw(page, p, false, "workers in a group; all of them where there are no groups", title);
}

/* Formats side by side in one picture would have more lines than there are colours. */
static void draw_errors(hu_page *page, const hu_gradient_study *study, picture *p, error_of *error,
                        const char *name, const char *title) {
    char format[HU_REDUCTION_TEXT_BYTES], heading[LABEL_BYTES];
    for (int32_t i = 0; i < study->count; i++) {
        if (!is_new_format(study, i, format)) continue;
        snprintf(heading, sizeof heading, "%s of %s", name, format);
        hu_html_panel(page, heading);
        draw_format(page, study, p, error, format, title);
        hu_html_panel_end(page);
    }
}

/* ---- time ---- */

/* Milliseconds of a reduction of n elements; NaN where the schedule does not fit. */
static double milliseconds(const hu_gradient_study *study, const hu_comm_options *options,
                           int32_t workers, int64_t n) {
    const hu_comm_layer layer = {.name = "gradient", .elements = n};
    hu_comm_options own = *options;
    hu_comm_plan *plan;
    hu_comm_time time;
    own.workers = workers;
    own.bucket_bytes = 1;
    if (hu_comm_plan_create(&own, &layer, 1, &plan) != HU_OK) return (double)NAN;
    hu_status st = hu_comm_predict(plan, &study->link, &time);
    hu_comm_plan_free(plan);
    return st == HU_OK ? 1e3 * time.seconds : (double)NAN;
}

/* The lines of a picture: one per schedule and width; scales change a time by little. bits: of that
 * width alone, 0: of all. */
static void add_times(const hu_gradient_study *study, picture *p, int64_t n, unsigned bits) {
    begin_picture(p);
    for (int32_t i = 0; i < study->count; i++) {
        const hu_comm_options *options = &study->cases[i].options;
        const hu_comm_code *code = options->scaling->code;
        unsigned own = code ? code->bits(options, false) : hu_format_bits(&options->format);
        hu_reduction_names names;
        char label[LABEL_BYTES];
        size_t known = p->count;
        if (bits && own != bits) continue;
        hu_reduction_name(options, &names);
        snprintf(label, sizeof label, "%.90s, %u bits", names.schedule, own);
        if (!line_of(p, label) || p->count == known) continue;
        for (int power = LEAST_POWER; power <= MOST_POWER; power++) {
            int32_t workers = 1 << power;
            /* One group alone is another schedule than its name says. */
            if (options->schedule->has_groups && workers <= options->group) continue;
            add_point(p, label, workers, milliseconds(study, options, workers, n));
        }
    }
}

/* One picture, that widths can be compared in; one for each width where it has no room for all. */
static void draw_times(hu_page *page, const hu_gradient_study *study, picture *p, int64_t n) {
    enum { BITS_MOST = 32 };
    char title[LABEL_BYTES], grouped[HU_GROUPED_BYTES];
    snprintf(title, sizeof title, "predicted milliseconds for %s elements", hu_grouped(n, grouped));
    add_times(study, p, n, 0);
    if (!p->left_out[0]) {
        draw(page, p, true, "workers", title);
        return;
    }
    for (unsigned bits = 1; bits <= BITS_MOST; bits++) {
        add_times(study, p, n, bits);
        if (p->count) draw(page, p, true, "workers", title);
    }
}

/* ---- table ---- */

/* Shares in percent; the best L2 of a format has a star. */
static void put_errors(hu_page *page, const hu_gradient_study *study, int32_t number) {
    const hu_gradient_study_outcome *o = &study->cases[number].outcome;
    const double shares[] = {o->error.eq5_mean, o->error.median, o->error.relative_l2,
                             o->error.zeros};
    enum { L2 = 2 };
    char text[64];
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        bool has_star = i == L2 && reduction_is_best(study, number);
        snprintf(text, sizeof text, "%.2f%s", 100.0 * shares[i], has_star ? " *" : "");
        hu_html_number(page, text);
    }
    if (study->seeds == 1) return; /* there is no range */
    snprintf(text, sizeof text, "%.1f to %.1f", 100.0 * o->eq5_least, 100.0 * o->eq5_most);
    hu_html_number(page, text);
}

/* Its cells are those of the terminal's table, in the same order. */
static void put_row(hu_page *page, const hu_gradient_study *study, int32_t number) {
    const hu_gradient_study_case *c = &study->cases[number];
    const hu_gradient_study_outcome *o = &c->outcome;
    hu_reduction_names names;
    char text[64], grouped[HU_GROUPED_BYTES];
    hu_reduction_name(&c->options, &names);
    hu_html_row(page, reduction_is_best(study, number));
    hu_html_text(page, names.schedule);
    hu_html_text(page, names.format);
    hu_html_text(page, names.scaling);
    put_errors(page, study, number);
    hu_html_number(page, hu_grouped((int64_t)o->time.traffic.bytes_per_worker, grouped));
    hu_html_number(page, hu_grouped((int64_t)o->time.traffic.bytes, grouped));
    snprintf(text, sizeof text, "%lld", (long long)o->time.traffic.steps);
    hu_html_number(page, text);
    snprintf(text, sizeof text, "%.4g", 1e3 * o->time.seconds);
    hu_html_number(page, text);
    int32_t worst = reduction_worst(study, o);
    if (worst >= 0) {
        char layer[LABEL_BYTES];
        snprintf(layer, sizeof layer, "%.200s (%.2f %%)", study->given.layer[worst].name,
                 100.0 * o->layer[worst].relative_l2);
        hu_html_text(page, layer);
    }
    hu_html_row_end(page);
}

static void put_skipped(hu_page *page, const hu_gradient_study *study) {
    for (int32_t i = 0; i < study->skipped; i++) {
        const hu_gradient_study_case *c = &study->cases[study->count + i];
        char pair[HU_COMM_PAIR_BYTES], text[2 * HU_COMM_MISFIT_BYTES];
        hu_comm_pair_print(&c->options, pair);
        snprintf(text, sizeof text, "skipped %s: %s", pair, c->misfit);
        hu_html_note(page, text);
    }
}

static void put_table(hu_page *page, const hu_gradient_study *study) {
    const char *title[16] = {"schedule",  "format", "scaling", "Eq. 5, %",
                             "median, %", "L2, %",  "zeros, %"};
    size_t columns = 7;
    if (study->seeds > 1) title[columns++] = "Eq. 5 of the seeds, %";
    title[columns++] = "bytes of the busiest worker";
    title[columns++] = "bytes of all";
    title[columns++] = "steps";
    title[columns++] = "predicted, ms";
    /* Of drawn gradients there is one layer. */
    if (study->given.gradient) title[columns++] = "largest L2 of a layer";
    hu_html_section(page, "table", "All reductions",
                    "*: the least L2 error of a format. zeros: share of the elements that became "
                    "zero. Bytes are those sent, with headers and exponents. Steps are those of "
                    "the schedule.");
    hu_html_table(page, title, columns, 3);
    for (int32_t i = 0; i < study->count; i++) put_row(page, study, i);
    hu_html_table_end(page);
    put_skipped(page, study);
    hu_html_section_end(page);
}

/* ---- page ---- */

static void put_head(hu_page *page, const hu_gradient_study *study) {
    char title[64], line[HU_REDUCTION_LINE_BYTES], link[HU_COMM_LINK_BYTES];
    char subtitle[sizeof line + sizeof link + 2];
    snprintf(title, sizeof title, "Gradients of %d workers", study->gradient.workers);
    reduction_describe(study, line);
    hu_comm_link_print(&study->link, link);
    snprintf(subtitle, sizeof subtitle, "%s; %s", line, link);
    hu_html_begin(page, title, subtitle);
}

static hu_status make_html(const hu_gradient_study *study, char **html) {
    hu_page page = {0};
    picture *p;
    *html = NULL;
    hu_status st = HU_NEW(&p);
    if (st != HU_OK) return st;
    put_head(&page, study);
    hu_html_section(&page, "errors", "Error against the group size",
                    "How far the reduced gradient is from the exact sum. Eq. 5 of the APS paper is "
                    "the mean of |h - l| / |h| over the elements, which sums h near zero decide; "
                    "the L2 norm is steadier. Each picture has a scale of its own.");
    hu_html_panels(&page);
    draw_errors(&page, study, p, eq5, "Eq. 5", "error, Eq. 5, %");
    draw_errors(&page, study, p, relative_l2, "L2 norm", "relative L2 error, %");
    hu_html_panels_end(&page);
    hu_html_section_end(&page);
    hu_html_section(
        &page, "times", "Predicted time against the number of workers",
        "What the network alone takes, from the messages of every step of the schedule; "
        "first for the gradient of this page, then for one as large as ResNet-50.");
    hu_html_panels(&page);
    hu_html_panel(&page, "This gradient");
    draw_times(&page, study, p, study->gradient.elements);
    hu_html_panel_end(&page);
    hu_html_panel(&page, "The gradient of ResNet-50");
    draw_times(&page, study, p, RESNET50_PARAMETERS);
    hu_html_panel_end(&page);
    hu_html_panels_end(&page);
    hu_html_section_end(&page);
    put_table(&page, study);
    hu_html_end(&page, "Made by halfulp " HALFULP_VERSION ", verb comm.");
    hu_free(p);
    return hu_page_finish(&page, html);
}

hu_status hu_reductions_page(const hu_gradient_study *study, const char *path) {
    hu_status st = HU_OK;
    char *html = NULL;
    HU_TRY(make_html(study, &html));
    HU_TRY(hu_file_replace(path, html, strlen(html)));
done:
    hu_free(html);
    return st;
}
