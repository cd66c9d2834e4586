/* report/report.c - the page of a folder: title, sections, file. */
#include "report/report.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "show/html.h"

/* The sections in the order of the page; each leaves itself out where there is nothing to show. */
static hu_status make_html(const hu_report *report, const char *title, char **html) {
    hu_page page = {0};
    char subtitle[1024];
    hu_report_subtitle(report, subtitle, sizeof subtitle);
    hu_html_begin(&page, title, subtitle);
    hu_report_overview(&page, report);
    hu_report_curves(&page, report);
    hu_report_classes(&page, report);
    hu_report_pictures(&page, report);
    hu_report_answers(&page, report);
    hu_report_layer_bits(&page, report);
    hu_report_exponents(&page, report);
    hu_report_losses(&page, report);
    hu_report_ratios(&page, report);
    hu_report_promoted(&page, report);
    hu_report_groups(&page, report);
    hu_report_memory(&page, report);
    hu_report_settings(&page, report);
    hu_report_made(&page, report);
    char maker[160], date[HU_DATE_BYTES];
    snprintf(maker, sizeof maker,
             "Made by halfulp " HALFULP_VERSION " (halfulp report) on %s from the folders above.",
             hu_date_text(time(NULL), date));
    hu_html_end(&page, maker);
    return hu_page_finish(&page, html);
}

void hu_report_left_out(hu_page *page, const hu_report *report) {
    enum { TEXT_BYTES = 2000 };
    char words[HU_METRIC_TEXT_BYTES], text[TEXT_BYTES];
    size_t used = (size_t)snprintf(
        text, sizeof text,
        "Runs of another metric than %s are left out: ", hu_metric_words(report->metric, words));
    int count = 0;
    for (size_t i = 0; i < report->count && used < sizeof text; i++) {
        const hu_report_run *run = &report->run[i];
        if (run->metric == report->metric) continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s, %s", count ? "; " : "",
                                 run->label, hu_metric_words(run->metric, words));
        count++;
    }
    if (used < sizeof text) snprintf(text + used, sizeof text - used, ".");
    if (count > 0) hu_html_note(page, text);
}

hu_status hu_report_page(hu_report *report, const char *path) {
    hu_status st;
    char title[256], *html = NULL;
    report->path = path;
    hu_report_number(report);
    hu_report_title(report, title, sizeof title);
    HU_TRY(make_html(report, title, &html));
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
    HU_TRY(hu_report_page(&report, path));
done:
    hu_free(path);
    hu_report_free(&report);
    return st;
}

hu_status hu_report_try(const char *folder) {
    hu_status st = hu_report_write(folder);
    if (st != HU_OK) fprintf(stderr, "no report: %s\n", hu_last_error());
    return st;
}

hu_status hu_report_end(hu_status tried, const char *folder) {
    if (tried == HU_OK) return HU_OK;
    return hu_fail(tried, "%s: found no report.html of this run, expected one; all else is there",
                   folder);
}
