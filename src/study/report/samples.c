#include "report/samples.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "render/html.h"
#include "report/report.h"
#include "task/task.h"

/* ---- images ---- */

/* What a network sees and tells apart, in the words that all plans begin with. */

const char *hu_images_text(const int64_t *image, int64_t classes, char text[HU_IMAGES_TEXT_BYTES]) {
    if (image[1] == 0) { /* rows of a text */
        snprintf(text, HU_IMAGES_TEXT_BYTES, "windows of %lld tokens, %lld different",
                 (long long)image[0], (long long)classes);
        return text;
    }
    int used = snprintf(text, HU_IMAGES_TEXT_BYTES, "%lldx%lldx%lld images", (long long)image[0],
                        (long long)image[1], (long long)image[2]);
    if (classes > 0)
        snprintf(text + used, HU_IMAGES_TEXT_BYTES - (size_t)used, ", %lld classes",
                 (long long)classes);
    return text;
}

/* ---- answers ---- */

/* What models make of test samples: the pictures that trainings and `predict` leave in a run's
 * folder, inside of the page. */

enum { MOST_PICTURES = 3, MOST_RUNS = 6 };

/* Path of a picture that is there, NULL otherwise; owner frees with hu_free. */
static char *find_picture(const hu_report_run *run, int number) {
    char name[32], *path = NULL;
    snprintf(name, sizeof name, "answers/%02d.png", number);
    if (hu_path_join(run->folder, name, &path) == HU_OK && hu_file_exists(path)) return path;
    hu_free(path);
    return NULL;
}

static bool has_answers(const hu_report_run *run) {
    char *path = find_picture(run, 0);
    hu_free(path);
    return path != NULL;
}

static void put_answers(hu_page *page, const hu_report_run *run, const void *context) {
    char *path, label[32];
    (void)context;
    hu_report_put_colours(page, run);
    for (int i = 0; i < MOST_PICTURES && (path = find_picture(run, i)); i++) {
        snprintf(label, sizeof label, "test sample %d", i);
        hu_report_put_picture(page, path, label, NULL);
        hu_free(path);
    }
}

void hu_report_answers(hu_page *page, const hu_report *report) {
    const hu_report_part part = {.id = "answers",
                                 .title = "Test samples",
                                 .text = "Input, truth and prediction of the newest checkpoint, "
                                         "the first samples of the test part.",
                                 .verb = "shown",
                                 .has = has_answers,
                                 .put = put_answers,
                                 .most = MOST_RUNS,
                                 .open = 1};
    hu_report_put_part(page, report, &part);
}

/* ---- pictures ---- */

/* What models made of pictures, at the first evaluation and at the last. */

hu_status hu_report_sheets(const hu_report_run *run, char **directory, hu_file_names *names) {
    *names = (hu_file_names){0};
    *directory = NULL;
    hu_status st = hu_path_join(run->folder, "pictures", directory);
    if (st != HU_OK || !hu_is_folder(*directory)) return st;
    return hu_file_names_of_images(*directory, names);
}

static bool has_sheets(const hu_report_run *run) {
    char *directory = NULL;
    hu_file_names names;
    bool has = hu_report_sheets(run, &directory, &names) == HU_OK && names.count > 0;
    hu_file_names_free(&names);
    hu_free(directory);
    return has;
}

static void put_sheet(hu_page *page, const char *directory, const char *name) {
    char *path = NULL, text[80];
    long long step = 0;
    hu_status st = HU_OK;
    HU_TRY(hu_path_join(directory, name, &path));
    if (sscanf(name, "step-%lld", &step) == 1)
        snprintf(text, sizeof text, "Behind %lld steps", step);
    else
        snprintf(text, sizeof text, "%.60s", name);
    hu_report_put_picture(page, path, text, text);
done:
    if (st == HU_ERR_MEMORY && page->status == HU_OK) page->status = st;
    hu_free(path);
}

static void put_pictures(hu_page *page, const hu_report_run *run, const void *context) {
    char *directory = NULL;
    hu_file_names names;
    (void)context;
    if (hu_report_sheets(run, &directory, &names) == HU_OK && names.count > 0) {
        hu_report_put_colours(page, run);
        if (names.count > 1) put_sheet(page, directory, names.name[0]);
        put_sheet(page, directory, names.name[names.count - 1]);
    }
    hu_file_names_free(&names);
    hu_free(directory);
}

void hu_report_pictures(hu_page *page, const hu_report *report) {
    const hu_report_part part = {.id = "pictures",
                                 .title = "What the models make of pictures",
                                 .text = "The first samples that the models are judged by in the "
                                         "upper row of each pair; below them what is made of "
                                         "them.",
                                 .verb = "shown",
                                 .has = has_sheets,
                                 .put = put_pictures,
                                 .most = 16,
                                 .open = 4};
    hu_report_put_part(page, report, &part);
}

/* ---- Metrics of each class, where those of a task are means over classes ---- */

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

static const char *name_of(const json_t *of) {
    const char *name = json_string_value(json_object_get(of, "name"));
    return name ? name : "?";
}

/* Of the run's pictures; those of a run without are taken for coloured ones. */
static int64_t channels_of(const hu_report_run *run) {
    char *directory = NULL, *path = NULL;
    hu_file_names names;
    uint8_t *data = NULL;
    size_t bytes;
    int64_t extent[3] = {0, 0, 3};
    hu_status st = hu_report_sheets(run, &directory, &names);
    if (st == HU_OK && names.count > 0) st = hu_path_join(directory, names.name[0], &path);
    if (path) st = hu_file_read_plain(path, HU_REPORT_PICTURE_MOST, &data, &bytes);
    if (st == HU_OK && data) hu_html_png_extents(data, bytes, extent);
    hu_free(data);
    hu_free(path);
    hu_file_names_free(&names);
    hu_free(directory);
    return extent[2];
}

/* The colours of a run's classes: of its task, in its pictures. */
typedef struct colours {
    void (*of)(int64_t class_number, int64_t channels, uint8_t rgb[3]); /* NULL: none */
    int64_t channels;
} colours;

static colours colours_of(const hu_report_run *run) {
    const char *name = json_string_value(json_object_get(run->result, "task"));
    const hu_task *task;
    if (!name || hu_task_find(name, &task) != HU_OK || !task->colour) return (colours){0};
    return (colours){task->colour, channels_of(run)};
}

void hu_report_put_colours(hu_page *page, const hu_report_run *run) {
    const json_t *list = classes_of(run);
    colours colour = colours_of(run);
    uint8_t rgb[3];
    if (!colour.of || json_array_size(list) == 0) return;
    hu_html_colours(page);
    for (size_t c = 0; c < json_array_size(list); c++) {
        colour.of((int64_t)c, colour.channels, rgb);
        hu_html_colour(page, rgb, name_of(json_array_get(list, c)));
    }
    hu_html_colours_end(page);
}

static void put_name(hu_page *page, colours colour, size_t class_number, const char *name) {
    uint8_t rgb[3];
    if (!colour.of) {
        hu_html_text(page, name);
        return;
    }
    colour.of((int64_t)class_number, colour.channels, rgb);
    hu_html_colour_text(page, rgb, name);
}

static void put_numbers(hu_page *page, const json_t *of, const hu_metric *const *metric,
                        size_t count) {
    char text[HU_METRIC_TEXT_BYTES];
    for (size_t m = 0; m < count; m++) {
        double value = hu_json_real(of, metric[m]->class_name);
        hu_html_number(page, hu_metric_text(metric[m], value, text));
    }
    hu_html_row_end(page);
}

static void put_classes(hu_page *page, const hu_report_run *run, const void *context) {
    const json_t *list = classes_of(run);
    const hu_metric *metric[HU_METRICS_MAX];
    const char *titles[1 + HU_METRICS_MAX] = {"class"};
    size_t count = list_metrics(json_array_get(list, 0), metric);
    colours colour = colours_of(run);
    (void)context;
    for (size_t m = 0; m < count; m++) titles[1 + m] = metric[m]->class_heading;
    hu_html_table(page, titles, 1 + count, 1);
    for (size_t c = 0; c < json_array_size(list); c++) {
        hu_html_row(page, false);
        put_name(page, colour, c, name_of(json_array_get(list, c)));
        put_numbers(page, json_array_get(list, c), metric, count);
    }
    hu_html_table_end(page);
}

void hu_report_classes(hu_page *page, const hu_report *report) {
    const hu_report_part part = {.id = "classes",
                                 .title = "Classes",
                                 .text = "What the last evaluation gave of each class, with its "
                                         "colour in pictures; a dash: no "
                                         "sample has the class, and the mean leaves it out.",
                                 .verb = "shown",
                                 .has = has_classes,
                                 .put = put_classes,
                                 .most = 16,
                                 .open = 4};
    hu_report_put_part(page, report, &part);
}
