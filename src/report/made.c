/* How the runs of a page were made: folder, date, program and machine of each, and the commands
 * that tell more. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "report/report.h"
#include "show/html.h"

enum { PATH_BYTES = 2200 };

const char *hu_date_text(time_t when, char text[HU_DATE_BYTES]) {
    struct tm parts;
    if (!gmtime_r(&when, &parts) ||
        strftime(text, HU_DATE_BYTES, "%Y-%m-%d %H:%M UTC", &parts) == 0)
        snprintf(text, HU_DATE_BYTES, "-");
    return text;
}

/* The run's folder as seen from the page's; false: the page does not lie above it. */
static bool link_of(const char *page, const char *folder, char link[PATH_BYTES]) {
    const char *slash = strrchr(page, '/');
    size_t length = slash ? (size_t)(slash - page) : 0;
    if (!slash && folder[0] == '/') return false;
    if (!slash) {
        snprintf(link, PATH_BYTES, "%s/", folder);
        return true;
    }
    if (strncmp(page, folder, length) != 0 || (folder[length] && folder[length] != '/'))
        return false;
    snprintf(link, PATH_BYTES, ".%s/", folder + length);
    return true;
}

static void put_folder(hu_page *page, const hu_report *report, const hu_report_run *run) {
    char link[PATH_BYTES];
    if (report->path && link_of(report->path, run->folder, link))
        hu_html_link(page, link, run->folder);
    else
        hu_html_text(page, run->folder);
}

/* When its last file of results was written; of a training that goes on, its settings. */
static void put_date(hu_page *page, const hu_report_run *run) {
    char path[PATH_BYTES], date[HU_DATE_BYTES];
    struct stat facts;
    snprintf(path, sizeof path, "%.2000s/%s", run->folder,
             run->result ? "result.json" : "config.resolved.yaml");
    hu_html_text(page, stat(path, &facts) == 0 ? hu_date_text(facts.st_mtime, date) : "-");
}

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "?";
}

static void put_row(hu_page *page, const hu_report *report, const hu_report_run *run) {
    char path[PATH_BYTES], text[200];
    snprintf(path, sizeof path, "%.2000s/env.json", run->folder);
    json_t *env = json_load_file(path, 0, NULL); /* NULL: the folder has none, and "?" stands */
    double seconds = hu_json_real(run->result, "train_seconds");
    hu_html_row(page, false);
    hu_html_text(page, run->label);
    put_folder(page, report, run);
    put_date(page, run);
    hu_html_text(page, text_of(env, "halfulp"));
    snprintf(text, sizeof text, "%.0f processors, %.40s, compiler %.60s",
             hu_json_real(env, "processors"), text_of(env, "isa"), text_of(env, "compiler"));
    hu_html_text(page, env ? text : "?");
    snprintf(text, sizeof text, "%.1f", seconds);
    hu_html_number(page, seconds > 0.0 ? text : "-");
    hu_html_row_end(page);
    json_decref(env);
}

void hu_report_made(hu_page *page, const hu_report *report) {
    static const char *const titles[] = {"run",     "folder",  "made on",
                                         "halfulp", "machine", "training, s"};
    char text[1200];
    if (report->count == 0) return;
    hu_html_section(page, "made", "How it was made", "");
    hu_html_table(page, titles, sizeof titles / sizeof *titles, 5);
    for (size_t i = 0; i < report->count; i++) put_row(page, report, &report->run[i]);
    hu_html_table_end(page);
    const char *folder = report->run[0].folder;
    snprintf(text, sizeof text,
             "halfulp why %.300s says what became of a run's numbers; halfulp train "
             "config=%.300s/config.resolved.yaml run.dir=NEW makes it again, to the same bits.",
             folder, folder);
    hu_html_paragraph(page, text);
    hu_html_section_end(page);
}
