/* report/report.c - the page of a folder: title, sections, file. */
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "report/figure.h"
#include "show/html.h"
#include "show/picture.h"

/* The sections in the order of the page; each leaves itself out where there is nothing to show. */
static const struct section {
    const char *name; /* of those with charts */
    void (*put)(hu_page *page, const hu_report *report);
} sections[] = {{NULL, hu_report_endings},          {"pareto", hu_report_overview},
                {NULL, hu_report_confusion},        {"curves", hu_report_curves},
                {NULL, hu_report_classes},          {NULL, hu_report_pictures},
                {NULL, hu_report_answers},          {"bits", hu_report_layer_bits},
                {"exponents", hu_report_exponents}, {NULL, hu_report_losses},
                {"ratios", hu_report_ratios},       {"promoted", hu_report_promoted},
                {"groups", hu_report_groups},       {"memory", hu_report_memory},
                {NULL, hu_report_settings},         {NULL, hu_report_made}};
enum { SECTIONS = sizeof sections / sizeof *sections };

static hu_status make_html(const hu_report *report, const char *title, char **html) {
    hu_page page = {0};
    char subtitle[1024];
    hu_report_subtitle(report, subtitle, sizeof subtitle);
    hu_html_begin(&page, title, subtitle);
    for (size_t i = 0; i < SECTIONS; i++) sections[i].put(&page, report);
    char maker[160], date[HU_DATE_BYTES];
    snprintf(maker, sizeof maker,
             "Made by halfulp " HALFULP_VERSION " (halfulp report) on %s from the folders above.",
             hu_date_text(time(NULL), date));
    hu_html_end(&page, maker);
    return hu_page_finish(&page, html);
}

/* ---- files of pictures ---- */

/* "exponents:3" -> a section and the number of its chart, 0: all. */
static hu_status read_choice(const char *text, const struct section **chosen, int *chart) {
    const char *names[SECTIONS];
    size_t count = 0, length = strcspn(text, ":");
    char nearest[256], name[64], *end = NULL;
    *chart = 0;
    *chosen = NULL;
    if (strcmp(text, "all") == 0) return HU_OK;
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    for (size_t i = 0; i < SECTIONS; i++) {
        if (!sections[i].name) continue;
        names[count++] = sections[i].name;
        if (strcmp(name, sections[i].name) == 0) *chosen = &sections[i];
    }
    hu_nearest(name, names, count, nearest, sizeof nearest);
    if (!*chosen)
        return hu_fail(HU_ERR_UNKNOWN, "section '%s': expected all, or a section with pictures: %s",
                       name, nearest);
    if (!text[length]) return HU_OK;
    long number = strtol(text + length + 1, &end, 10);
    if (*end || end == text + length + 1 || number < 1 || number > INT32_MAX)
        return hu_fail(HU_ERR_ARGUMENT,
                       "section '%.60s': expected the number of a picture, from 1 on, behind ':'",
                       text);
    *chart = (int)number;
    return HU_OK;
}

/* A section that was chosen needs no title. */
static void begin_figure(hu_page *page, const struct section *chosen, int chart) {
    *page = (hu_page){.is_untitled = chosen != NULL, .only = chart};
    hu_picture_begin(page);
}

/* Pages of a PDF are sections; elsewhere all stand below each other. */
static hu_status add_figures(const hu_report *report, const struct section *chosen, int chart,
                             bool is_paged, const char *title, hu_figures *figures) {
    hu_page page = {0};
    hu_status st = HU_OK;
    begin_figure(&page, chosen, chart);
    for (size_t i = 0; i < SECTIONS && st == HU_OK; i++) {
        if (chosen ? chosen != &sections[i] : !sections[i].name) continue;
        sections[i].put(&page, report);
        if (!is_paged) continue;
        st = hu_figures_add(figures, &page, title);
        begin_figure(&page, chosen, chart);
    }
    if (st == HU_OK) st = hu_figures_add(figures, &page, title);
    if (st != HU_OK) hu_page_free(&page);
    return st;
}

static hu_status write_figures(const hu_report *report, hu_figure_form form, const char *title,
                               const char *path, const char *choice) {
    hu_status st;
    hu_figures figures = {0};
    const struct section *chosen;
    int chart;
    HU_TRY(read_choice(choice, &chosen, &chart));
    HU_TRY(add_figures(report, chosen, chart, form == HU_FIGURE_PDF, title, &figures));
    if (figures.count == 0)
        HU_TRY(hu_fail(HU_ERR_MISSING, "%s: found no such picture of these runs: section=%s", path,
                       choice));
    HU_TRY(hu_figures_write(&figures, form, path));
done:
    hu_figures_free(&figures);
    return st;
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

hu_status hu_report_file(hu_report *report, const char *path, const char *section) {
    enum { HTML, HTM, SVG, PDF, PNG, CSV, TEX };
    static const char *const endings[] = {"html", "htm", "svg", "pdf", "png", "csv", "tex", NULL};
    static const hu_figure_form forms[] = {
        [SVG] = HU_FIGURE_SVG, [PDF] = HU_FIGURE_PDF, [PNG] = HU_FIGURE_PNG};
    char title[256];
    int ending;
    hu_status st = hu_ending_find(path, endings, &ending);
    if (st != HU_OK) return st;
    bool is_picture = ending == SVG || ending == PDF || ending == PNG;
    if (!is_picture && strcmp(section, "all") != 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "%s: found section=%s, expected it for pictures: .svg, .pdf or .png", path,
                       section);
    if (ending == HTML || ending == HTM) return hu_report_page(report, path);
    hu_report_number(report);
    hu_report_title(report, title, sizeof title);
    if (is_picture) return write_figures(report, forms[ending], title, path, section);
    return ending == CSV ? hu_report_csv(report, path) : hu_report_tex(report, title, path);
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

hu_report_tried hu_report_try(const char *folder) {
    hu_report_tried tried = {.status = hu_report_write(folder)};
    if (tried.status == HU_OK) return tried;
    snprintf(tried.why, sizeof tried.why, "%s", hu_last_error());
    fprintf(stderr, "no report: %s\n", tried.why);
    return tried;
}

hu_status hu_report_end(const hu_report_tried *tried, const char *folder) {
    if (tried->status == HU_OK) return HU_OK;
    return hu_fail(tried->status, "%s: what was trained has its result, but no report.html: %s",
                   folder, tried->why);
}
