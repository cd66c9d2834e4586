#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "render/html.h"
#include "report/report.h"
#include "runlog/progress.h"

/* ---- made ---- */

/* How the runs of a page were made: folder, date, program and machine of each, the commands that
 * began them, and those that tell more. */

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

/* One row for each time that a folder was begun; what says nothing of it has none. */
static hu_status put_commands(hu_page *page, const char *name, const char *folder) {
    char date[HU_DATE_BYTES];
    size_t i;
    json_t *start;
    hu_run_standing standing;
    hu_status st = hu_run_standing_read(folder, &standing);
    json_array_foreach(standing.starts, i, start) {
        if (!json_object_get(start, "command")) continue;
        hu_html_row(page, false);
        hu_html_text(page, name);
        hu_html_text(page, hu_date_text((time_t)hu_json_real(start, "time"), date));
        hu_html_text(page, text_of(start, "halfulp"));
        hu_html_text(page, text_of(start, "command"));
        hu_html_row_end(page);
    }
    hu_run_standing_free(&standing);
    return st == HU_ERR_MEMORY ? st : HU_OK;
}

/* The words that each was begun with, and gone on with: those of comparisons and the like first,
 * which gave the others theirs. */
static hu_status put_all_commands(hu_page *page, const hu_report *report) {
    enum { OPEN_MOST = 6 };
    static const char *const titles[] = {"run", "begun", "halfulp", "command"};
    hu_status st = HU_OK;
    hu_html_details(page, "Commands", report->count <= OPEN_MOST);
    hu_html_table(page, titles, sizeof titles / sizeof *titles, 4);
    for (uint32_t i = 0; i < report->folders.count && st == HU_OK; i++)
        st = put_commands(page, hu_path_name(report->folders.name[i]), report->folders.name[i]);
    for (size_t i = 0; i < report->count && st == HU_OK; i++)
        st = put_commands(page, report->run[i].label, report->run[i].folder);
    hu_html_table_end(page);
    hu_html_details_end(page);
    return st;
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
    hu_status st = put_all_commands(page, report);
    if (page->status == HU_OK) page->status = st;
    const char *folder = report->run[0].folder;
    snprintf(text, sizeof text,
             "halfulp why %.300s says what became of a run's numbers; halfulp train "
             "config=%.300s/config.resolved.yaml run.dir=NEW makes it again, to the same bits.",
             folder, folder);
    hu_html_paragraph(page, text);
    hu_html_section_end(page);
}
