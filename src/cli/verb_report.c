/* halfulp report: one page of pictures and tables from run folders. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "cli/jobs.h"
#include "cli/json.h"
#include "cli/report.h"
#include "cli/verb.h"
#include "show/html.h"

enum { MAX_SUBJECTS = 1024 };

static const char *text_of(const hu_report_run *run, const char *key) {
    const hu_keys *node = hu_keys_find(run->config, key);
    return node && hu_keys_kind_of(node) == HU_KEYS_TEXT ? hu_keys_value(node) : "?";
}

static void subtitle_of(const hu_report *report, char *text, size_t capacity) {
    const hu_report_run *run = &report->run[0];
    double parameters = hu_json_real(run->result, "parameters");
    bool has_width = strcmp(text_of(run, "model.width"), "1") != 0;
    int used = snprintf(text, capacity, "%.80s%s%.20s on %.200s", text_of(run, "model.name"),
                        has_width ? " of width " : "", has_width ? text_of(run, "model.width") : "",
                        text_of(run, "data.name"));
    if (parameters > 0.0)
        used += snprintf(text + used, capacity - (size_t)used, ", %.0f parameters", parameters);
    snprintf(text + used, capacity - (size_t)used, "; batch %.20s, %.20s steps; %zu run%s",
             text_of(run, "run.batch"), text_of(run, "run.steps"), report->count,
             report->count == 1 ? "" : "s");
}

hu_status hu_report_html(const hu_report *report, const char *title, char **html) {
    hu_page page = {0};
    char subtitle[512];
    subtitle_of(report, subtitle, sizeof subtitle);
    hu_html_begin(&page, title, subtitle);
    hu_report_overview(&page, report);
    hu_report_curves(&page, report);
    hu_report_exponents(&page, report);
    hu_report_losses(&page, report);
    hu_report_groups(&page, report);
    hu_report_memory(&page, report);
    hu_report_settings(&page, report);
    hu_html_end(&page, "Made by halfulp " HALFULP_VERSION " from the folders named above.");
    return hu_page_finish(&page, html);
}

static void title_of(const hu_report *report, char *text, size_t capacity) {
    const hu_report_run *run = &report->run[0];
    if (report->count == 1)
        snprintf(text, capacity, "%.80s in %.120s", text_of(run, "model.name"), run->precision);
    else
        snprintf(text, capacity, "%.80s in %d precision%s", text_of(run, "model.name"),
                 report->precisions, report->precisions == 1 ? "" : "s");
}

static hu_status write_page(hu_report *report, const char *path) {
    hu_status st;
    char title[256], *html = NULL;
    hu_report_number(report);
    title_of(report, title, sizeof title);
    HU_TRY(hu_report_html(report, title, &html));
    HU_TRY(hu_file_replace(path, html, strlen(html)));
done:
    hu_free(html);
    return st;
}

hu_status hu_report_write(const char *folder) {
    hu_status st;
    hu_report report = {0};
    char *path = NULL;
    HU_TRY(hu_report_add(&report, folder));
    HU_TRY(hu_path_join(folder, "report.html", &path));
    HU_TRY(write_page(&report, path));
done:
    hu_free(path);
    hu_report_free(&report);
    return st;
}

bool hu_report_try(const char *folder) {
    hu_status st = hu_report_write(folder);
    if (st != HU_OK) fprintf(stderr, "no report: %s\n", hu_last_error());
    return st == HU_OK;
}

static hu_status path_of(const hu_config *config, char **path) {
    const char *out;
    hu_status st = hu_config_text(config, "out.file", &out);
    if (st != HU_OK) return st;
    if (strcmp(out, "auto") != 0) return hu_strdup(out, path);
    if (hu_config_subjects(config) == 1)
        return hu_path_join(hu_config_subject(config, 0), "report.html", path);
    return hu_strdup("report.html", path);
}

static hu_status print(const hu_config *config, const hu_report *report, const char *path) {
    json_t *runs = json_array();
    for (size_t i = 0; i < report->count; i++) {
        const hu_report_run *run = &report->run[i];
        if (run->missing[0]) fprintf(stderr, "%s lacks: %s\n", run->folder, run->missing);
        json_array_append_new(runs, json_pack("{s:s, s:s, s:s}", "run", run->folder, "label",
                                              run->label, "missing", run->missing));
    }
    if (hu_config_flag(config, "json", NULL))
        return hu_json_print(json_pack("{s:s, s:o}", "report", path, "runs", runs));
    json_decref(runs);
    printf("report %s (%zu run%s)\n", path, report->count, report->count == 1 ? "" : "s");
    return HU_OK;
}

static hu_status run_report(hu_config *config, int *exit_code) {
    hu_status st;
    hu_report report = {0};
    char *path = NULL;
    (void)exit_code;
    for (int i = 0; i < hu_config_subjects(config); i++)
        HU_TRY(hu_report_add(&report, hu_config_subject(config, i)));
    HU_TRY(path_of(config, &path));
    HU_TRY(write_page(&report, path));
    HU_TRY(print(config, &report, path));
done:
    hu_free(path);
    hu_report_free(&report);
    return st;
}

static const char *const flags[] = {"json", NULL};

const hu_verb hu_verb_report = {
    .name = "report",
    .help = "one page of pictures and tables from run folders",
    .usage = "RUN... [out=FILE.html] [--json]",
    .details =
        "RUN is the folder of a run, or of a compare or demo, of which all runs are taken. The "
        "page\n"
        "is one file that needs no scripts and no network: accuracy against memory, loss curves "
        "with\n"
        "skipped steps and promotions, exponent histograms and what formats would lose of them,\n"
        "bits of the groups, memory by role, results and settings. Default: RUN/report.html, or\n"
        "report.html here for several. Also -o FILE.html.\n",
    .flags = flags,
    .min_subjects = 1,
    .max_subjects = MAX_SUBJECTS,
    .run = run_report,
};
