/* report/reductions.c - the numbers of a study, for people and for programs. */
#include "report/reductions.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "render/table.h"

static void append(char *text, const char *option) {
    size_t used = strlen(text);
    snprintf(text + used, HU_REDUCTION_TEXT_BYTES - used, "+%s", option);
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

int32_t hu_reduction_worst(const hu_gradient_study *study,
                           const hu_gradient_study_outcome *outcome) {
    int32_t worst = -1;
    for (int32_t l = 0; outcome->layer && l < study->given.layers; l++)
        if (worst < 0 || outcome->layer[l].relative_l2 > outcome->layer[worst].relative_l2)
            worst = l;
    return worst;
}

bool hu_reduction_is_best(const hu_gradient_study *study, int32_t number) {
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

/* What is added to a text of HU_REDUCTION_LINE_BYTES. */
__attribute__((format(printf, 2, 3))) static void add(char *text, const char *format, ...) {
    va_list values;
    size_t used = strlen(text);
    va_start(values, format);
    vsnprintf(text + used, HU_REDUCTION_LINE_BYTES - used, format, values);
    va_end(values);
}

static void describe_drawn(const hu_synthetic_gradient *gradient, const char *elements,
                           char *text) {
    int exponent;
    add(text, "%d workers, %s elements (rho %g, sigma %g", gradient->workers, elements,
        gradient->rho, gradient->sigma);
    if (gradient->magnitude == 1.0)
        add(text, ")");
    else if (frexp(gradient->magnitude, &exponent) == 0.5)
        add(text, ", magnitude 2^%d)", exponent - 1);
    else
        add(text, ", magnitude %g)", gradient->magnitude);
}

void hu_reduction_describe(const hu_gradient_study *study, char *text) {
    const hu_synthetic_gradient *gradient = &study->gradient;
    char elements[HU_GROUPED_BYTES];
    *text = '\0';
    hu_grouped(gradient->elements, elements);
    if (study->given.gradient)
        add(text, "%d workers, %s, %s elements in %d layers", gradient->workers,
            study->given.origin, elements, study->given.layers);
    else
        describe_drawn(gradient, elements, text);
    add(text, ", seed %llu", (unsigned long long)gradient->seed);
    if (study->seeds > 1) add(text, " and the next %d: medians", study->seeds - 1);
    if (study->reductions > 1) add(text, "; errors of the sum of %d steps", study->reductions);
}

/* Shares in percent; the best L2 has a star, for which the others leave room. */
static hu_status add_errors(const hu_gradient_study *study, int32_t number, hu_table *table) {
    hu_status st = HU_OK;
    const hu_gradient_study_outcome *o = &study->cases[number].outcome;
    HU_TRY(hu_table_cell(table, "%.2f", 100.0 * o->error.eq5_mean));
    HU_TRY(hu_table_cell(table, "%.2f", 100.0 * o->error.median));
    HU_TRY(hu_table_cell(table, "%.2f %c", 100.0 * o->error.relative_l2,
                         hu_reduction_is_best(study, number) ? '*' : ' '));
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
    int32_t worst = hu_reduction_worst(study, o);
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
    hu_reduction_describe(study, line);
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
