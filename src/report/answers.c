/* What models make of test samples: the pictures that trainings and `predict` leave in a run's
 * folder, inside of the page. */
#include <stdio.h>

#include "base/file.h"
#include "base/memory.h"
#include "report/report.h"
#include "show/html.h"

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
