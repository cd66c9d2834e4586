/* Metrics of each class, where those of a task are means over classes. */
#include <stdio.h>
#include <string.h>

#include "report/report.h"
#include "show/html.h"
#include "task/task.h"

/* Of the test samples, or of those held out where these were never read. */
static const json_t *classes_of(const hu_report_run *run) {
    const json_t *list = json_object_get(run->result, "test_classes");
    return list ? list : json_object_get(run->result, "validation_classes");
}

static bool has_classes(const hu_report_run *run) {
    return json_array_size(classes_of(run)) > 0;
}

/* The metrics that a class has a value of; returns how many. */
static size_t list_metrics(const json_t *first, const hu_metric **metric) {
    size_t count = 0;
    for (size_t i = 0; hu_metric_at(i) && count < HU_METRICS_MAX; i++) {
        const hu_metric *one = hu_metric_at(i);
        if (one->of_class && json_object_get(first, one->class_name)) metric[count++] = one;
    }
    return count;
}

static void put_row(hu_page *page, const json_t *of, const hu_metric *const *metric, size_t count) {
    const char *name = json_string_value(json_object_get(of, "name"));
    char text[HU_METRIC_TEXT_BYTES];
    hu_html_row(page, false);
    hu_html_text(page, name ? name : "?");
    for (size_t m = 0; m < count; m++) {
        double value = hu_json_real(of, metric[m]->class_name);
        hu_html_number(page, hu_metric_text(metric[m], value, text));
    }
    hu_html_row_end(page);
}

static void put(hu_page *page, const hu_report_run *run, const void *context) {
    const json_t *list = classes_of(run);
    const hu_metric *metric[HU_METRICS_MAX];
    const char *titles[1 + HU_METRICS_MAX] = {"class"};
    size_t count = list_metrics(json_array_get(list, 0), metric);
    (void)context;
    for (size_t m = 0; m < count; m++) titles[1 + m] = metric[m]->class_heading;
    hu_html_table(page, titles, 1 + count, 1);
    for (size_t c = 0; c < json_array_size(list); c++)
        put_row(page, json_array_get(list, c), metric, count);
    hu_html_table_end(page);
}

void hu_report_classes(hu_page *page, const hu_report *report) {
    const hu_report_part part = {.id = "classes",
                                 .title = "Classes",
                                 .text = "What the last evaluation gave of each class; a dash: no "
                                         "sample has the class, and the mean leaves it out.",
                                 .verb = "shown",
                                 .has = has_classes,
                                 .put = put,
                                 .most = 16,
                                 .open = 4};
    hu_report_put_part(page, report, &part);
}
