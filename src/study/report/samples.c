#include "report/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "render/html.h"
#include "report/internal.h"
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

/* ---- Metrics of each class, where those of a task are means over classes ---- */

/* The sheets of a run in the order of their steps, owner frees both; none where there is no folder
 * of them. */
static hu_status report_sheets(const hu_report_run *run, char **directory, hu_file_names *names) {
    *names = (hu_file_names){0};
    *directory = NULL;
    hu_status st = hu_path_join(run->folder, "pictures", directory);
    if (st != HU_OK || !hu_is_folder(*directory)) return st;
    return hu_file_names_of_images(*directory, names);
}

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
    hu_status st = report_sheets(run, &directory, &names);
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

/* The classes of a run with their colours, above its pictures; nothing where they have none. */
static void report_put_colours(hu_page *page, const hu_report_run *run) {
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

/* ---- answers ---- */

/* What models make of test samples: the pictures that trainings and `predict` leave in a run's
 * folder, inside of the page. */

enum { MOST_PICTURES = 3, MOST_RUNS = 6 };

/* Path of a picture that is present, NULL otherwise; owner frees with hu_free. */
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
    report_put_colours(page, run);
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

static bool has_sheets(const hu_report_run *run) {
    char *directory = NULL;
    hu_file_names names;
    bool has = report_sheets(run, &directory, &names) == HU_OK && names.count > 0;
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
    if (report_sheets(run, &directory, &names) == HU_OK && names.count > 0) {
        report_put_colours(page, run);
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

/* ---- Confusion ---- */

enum { SHOWN = 20, MAX_RUNS_SHOWN = 2, CELL_BYTES = 64 };

static const json_t *matrix_of(const hu_report_run *run) {
    return json_object_get(json_object_get(run->confusion, "confusion"), "matrix");
}

/* Of many classes there is no table that could be read: eval page= has the pairs. */
static bool has_confusion(const hu_report_run *run) {
    size_t classes = json_array_size(matrix_of(run));
    return run->is_first && classes > 1 && classes <= SHOWN;
}

static const char *word_of(const json_t *text) {
    const char *word = json_string_value(text);
    return word ? word : "?";
}

/* A row for each true class; what is right stands strong. */
static void put_matrix(hu_page *page, const hu_report_run *run) {
    const json_t *names = json_object_get(json_object_get(run->confusion, "confusion"), "classes");
    const json_t *matrix = matrix_of(run);
    const char *titles[1 + SHOWN] = {"true class"};
    size_t classes = json_array_size(matrix);
    for (size_t k = 0; k < classes; k++) titles[1 + k] = word_of(json_array_get(names, k));
    hu_html_table(page, titles, 1 + classes, 1);
    for (size_t t = 0; t < classes; t++) {
        hu_html_row(page, false);
        hu_html_text(page, titles[1 + t]);
        for (size_t s = 0; s < classes; s++) {
            const json_t *cell = json_array_get(json_array_get(matrix, t), s);
            hu_html_cell(page, true);
            hu_page_put(page, s == t ? "<b>%lld</b>" : "%lld", (long long)json_integer_value(cell));
            hu_html_cell_end(page);
        }
        hu_html_row_end(page);
    }
    hu_html_table_end(page);
}

/* Only files of the run's own folder of mistakes. */
static void put_picture(hu_page *page, const hu_report_run *run, const json_t *mistake) {
    static const char folder[] = "mistakes/";
    const char *name = json_string_value(json_object_get(mistake, "picture"));
    char *path = NULL;
    hu_html_cell(page, false);
    if (name && strncmp(name, folder, sizeof folder - 1) == 0 &&
        !strchr(name + sizeof folder - 1, '/') && hu_path_join(run->folder, name, &path) == HU_OK)
        hu_report_put_picture(page, path, word_of(json_object_get(mistake, "truth")), NULL);
    hu_html_cell_end(page);
    hu_free(path);
}

static void put_mistakes(hu_page *page, const hu_report_run *run) {
    static const char *const titles[] = {"picture", "it is", "the model says", "file",
                                         "probability"};
    const json_t *list = json_object_get(run->confusion, "mistakes");
    char cell[CELL_BYTES];
    if (json_array_size(list) == 0) {
        hu_html_note(page, "There is no mistake.");
        return;
    }
    hu_html_heading(page, "The most confident mistakes");
    hu_html_table(page, titles, sizeof titles / sizeof *titles, 4);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *mistake = json_array_get(list, i);
        const char *file = json_string_value(json_object_get(mistake, "file"));
        hu_html_row(page, false);
        put_picture(page, run, mistake);
        hu_html_text(page, word_of(json_object_get(mistake, "truth")));
        hu_html_text(page, word_of(json_object_get(mistake, "said")));
        snprintf(cell, sizeof cell, "sample %lld",
                 (long long)json_integer_value(json_object_get(mistake, "sample")));
        hu_html_text(page, file ? file : cell);
        snprintf(cell, sizeof cell, "%.2f %%", 100.0 * hu_json_real(mistake, "probability"));
        hu_html_number(page, cell);
        hu_html_row_end(page);
    }
    hu_html_table_end(page);
}

static void put(hu_page *page, const hu_report_run *run, const void *unused) {
    char text[200];
    (void)unused;
    snprintf(text, sizeof text, "After %lld steps, of the %.20s samples:",
             (long long)json_integer_value(json_object_get(run->confusion, "step")),
             word_of(json_object_get(run->confusion, "part")));
    hu_html_paragraph(page, text);
    put_matrix(page, run);
    put_mistakes(page, run);
}

void hu_report_confusion(hu_page *page, const hu_report *report) {
    const hu_report_part part = {
        .id = "confusion",
        .title = "What is taken for what",
        .text =
            "A row for each true class, a column for each that the model says; below, samples of "
            "whose wrong class it is surest, as it sees them. `halfulp eval RUN page=FILE.html` "
            "has more of them.",
        .verb = "shown",
        .has = has_confusion,
        .put = put,
        .most = MAX_RUNS_SHOWN,
        .open = 1};
    /* Of several runs the table of results tells more, and pictures would make the page large. */
    if (report->count == 1) hu_report_put_part(page, report, &part);
}
