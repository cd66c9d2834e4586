/* What a run takes for what, and its most confident mistakes (confusion.json of its folder). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "render/html.h"
#include "report/report.h"

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
