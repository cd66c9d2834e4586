/* What models make of test samples: the pictures that trainings and `predict` leave in a run's
 * folder, inside of the page. */
#include <stdio.h>

#include "base/file.h"
#include "report/report.h"
#include "show/html.h"

enum { MOST_PICTURES = 3, MOST_RUNS = 6 };

static void path_of(const hu_report_run *run, int number, char *path, size_t capacity) {
    snprintf(path, capacity, "%.2000s/answers/%02d.png", run->folder, number);
}

static bool has_answers(const hu_report_run *run) {
    char path[2100];
    path_of(run, 0, path, sizeof path);
    return hu_file_exists(path);
}

static void put_answers(hu_page *page, const hu_report_run *run, const void *context) {
    char path[2100], label[32];
    (void)context;
    hu_report_put_colours(page, run);
    for (int i = 0; i < MOST_PICTURES; i++) {
        path_of(run, i, path, sizeof path);
        if (!hu_file_exists(path)) break;
        snprintf(label, sizeof label, "test sample %d", i);
        hu_report_put_picture(page, path, label, NULL);
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
