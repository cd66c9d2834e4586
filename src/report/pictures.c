/* What models made of pictures, at the first evaluation and at the last. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "report/report.h"
#include "show/html.h"

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

static void put(hu_page *page, const hu_report_run *run, const void *context) {
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
                                 .put = put,
                                 .most = 16,
                                 .open = 4};
    hu_report_put_part(page, report, &part);
}
