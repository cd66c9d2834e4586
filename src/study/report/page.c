
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "config/config.h"
#include "config/unused_keys.h"
#include "render/chart.h"
#include "render/html.h"
#include "report/internal.h"
#include "runlog/progress.h"

/* ---- What the runs were made by ---- */

/* How the runs of a page were made: folder, date, program and machine of each, the commands that
 * began them, and those that tell more. */

enum { PATH_BYTES = 2200 };

static const char *date_text(time_t when, char text[HU_DATE_BYTES]) {
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
    hu_html_text(page, stat(path, &facts) == 0 ? date_text(facts.st_mtime, date) : "-");
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
        hu_html_text(page, date_text((time_t)hu_json_real(start, "time"), date));
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

static void report_made(hu_page *page, const hu_report *report) {
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

/* ---- The page and its files ---- */

static void report_settings(hu_page *page, const hu_report *report);

/* The sections in the order of the page; each leaves itself out where there is nothing to show. */
static const struct section {
    const char *name; /* of those with charts */
    void (*put)(hu_page *page, const hu_report *report);
} sections[] = {{NULL, hu_report_endings},
                {"pareto", hu_report_overview},
                {NULL, hu_report_confusion},
                {"curves", hu_report_curves},
                {NULL, hu_report_classes},
                {NULL, hu_report_pictures},
                {NULL, hu_report_answers},
                {"bits", hu_report_layer_bits},
                {"exponents", hu_report_exponents},
                {NULL, hu_report_losses},
                {"ratios", hu_report_ratios},
                {"promoted", hu_report_promoted},
                {"groups", hu_report_groups},
                {"memory", hu_report_memory},
                {NULL, report_settings},
                {NULL, report_made}};
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
             date_text(time(NULL), date));
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
    int count = 0;
    snprintf(text, sizeof text, "Runs of another metric than %s are left out: ",
             hu_metric_words(report->metric, words));
    for (size_t i = 0; i < report->count; i++) {
        const hu_report_run *run = &report->run[i];
        if (run->metric == report->metric) continue;
        hu_note_add(text, sizeof text, count++ ? "; " : "", "%s, %s", run->label,
                    hu_metric_words(run->metric, words));
    }
    hu_note_add(text, sizeof text, "", ".");
    if (count > 0) hu_html_note(page, text);
}

/* Numbers the runs and writes the whole page to a file. */
static hu_status report_page(hu_report *report, const char *path) {
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
    if (ending == HTML || ending == HTM) return report_page(report, path);
    hu_report_number(report);
    hu_report_title(report, title, sizeof title);
    if (is_picture) return write_figures(report, forms[ending], title, path, section);
    return ending == CSV ? hu_report_csv(report, path) : hu_report_tex(report, title, path);
}

/* Report of the folder's own runs, written to FOLDER/report.html. */
static hu_status report_write(const char *folder) {
    hu_status st;
    hu_report report = {0};
    char *path = NULL;
    HU_TRY(hu_report_add(&report, folder));
    HU_TRY(hu_path_join(folder, "report.html", &path));
    HU_TRY(report_page(&report, path));
done:
    hu_free(path);
    hu_report_free(&report);
    return st;
}

hu_report_tried hu_report_try(const char *folder) {
    hu_report_tried tried = {.status = report_write(folder)};
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

/* ---- shown ---- */

/* Sections that draw some of the runs: how many there are, and what is said of the
 * rest; and files of pictures. */

static int count_runs(const hu_report *report, const hu_report_part *part) {
    int count = 0;
    for (size_t i = 0; i < report->count; i++) count += part->has(&report->run[i]);
    return count;
}

/* shown: runs before this one; all: that have it. */
static void put_fold(hu_page *page, const hu_report_run *run, const hu_report_part *part, int shown,
                     int all) {
    char text[256];
    if (part->fold) {
        bool is_open = part->fold(run, all, text, sizeof text);
        hu_html_details(page, text, is_open);
    } else {
        hu_html_details(page, run->name,
                        shown == 0 || all <= part->open || part->open >= part->most);
    }
    part->put(page, run, part->context);
    hu_html_details_end(page);
}

/* The one run that has it. */
static void put_alone(hu_page *page, const hu_report_run *run, const hu_report_part *part) {
    if (part->is_one_picture) hu_html_panel(page, NULL);
    part->put(page, run, part->context);
    if (part->is_one_picture) hu_html_panel_end(page);
}

/* The runs after those that are shown, by their names. */
static void put_left_out(hu_page *page, const hu_report *report, const hu_report_part *part,
                         int shown, int all) {
    char text[1200];
    int count = 0;
    snprintf(text, sizeof text,
             "The first %d of %d runs are %s: halfulp report RUN has those of one run. Left out:",
             shown, all, part->verb);
    for (size_t i = 0; i < report->count; i++) {
        if (!part->has(&report->run[i]) || count++ < shown) continue;
        hu_note_add(text, sizeof text, count == shown + 1 ? " " : ", ", "%s", report->run[i].name);
    }
    hu_html_note(page, text);
}

void hu_report_put_part(hu_page *page, const hu_report *report, const hu_report_part *part) {
    int shown = 0, all = count_runs(report, part);
    if (all == 0) return;
    hu_html_section(page, part->id, part->title, part->text);
    if (part->is_one_picture) hu_html_panels(page);
    size_t start = page->out.size;
    for (size_t i = 0; i < report->count && shown < part->most; i++) {
        if (!part->has(&report->run[i])) continue;
        if (part->bytes > 0 && page->out.size - start > part->bytes) break;
        if (all > 1)
            put_fold(page, &report->run[i], part, shown, all);
        else
            put_alone(page, &report->run[i], part);
        shown++;
    }
    if (part->is_one_picture) hu_html_panels_end(page);
    if (shown < all) put_left_out(page, report, part, shown, all);
    hu_html_section_end(page);
}

void hu_report_put_picture(hu_page *page, const char *path, const char *label,
                           const char *heading) {
    uint8_t *data;
    size_t bytes;
    hu_status st = hu_file_read_plain(path, HU_REPORT_PICTURE_MOST, &data, &bytes);
    if (st == HU_ERR_MEMORY && page->status == HU_OK) page->status = st;
    if (st != HU_OK) return;
    if (heading) hu_html_heading(page, heading);
    hu_html_png(page, label, data, bytes);
    hu_free(data);
}

/* ---- The settings: what differs between the runs, and what they share ---- */

enum { VALUE_BYTES = 160, MAX_COLUMNS = 12 };

/* A value as one line; lists with commas. */
static void print_value(const hu_keys *config, const char *key, char *text, size_t capacity) {
    const hu_keys *node = hu_keys_find(config, key);
    text[0] = '\0';
    if (!node)
        snprintf(text, capacity, "not there");
    else
        hu_keys_join(node, ", ", text, capacity);
}

/* Whether the runs have different values of a key. */
static bool differs(const hu_report *report, const char *key) {
    char first[VALUE_BYTES], other[VALUE_BYTES];
    print_value(report->run[0].config, key, first, sizeof first);
    for (size_t i = 1; i < report->count; i++) {
        print_value(report->run[i].config, key, other, sizeof other);
        if (strcmp(first, other) != 0) return true;
    }
    return false;
}

/* A column for each key that differs, as many as fit, and the folder. */
static void put_differences(hu_page *page, const hu_report *report) {
    const char *titles[MAX_COLUMNS + 1] = {"run"};
    size_t columns = 1;
    char text[VALUE_BYTES];
    for (size_t i = 0; i < hu_config_key_count && columns < MAX_COLUMNS; i++) {
        const char *key = hu_config_keys[i].name;
        if (!hu_config_key_is_free(key) && differs(report, key)) titles[columns++] = key;
    }
    titles[columns++] = "folder";
    hu_html_heading(page, "What differs");
    hu_html_table(page, titles, columns, columns);
    for (size_t i = 0; i < report->count; i++) {
        hu_html_row(page, false);
        hu_html_text(page, report->run[i].label);
        for (size_t c = 1; c + 1 < columns; c++) {
            print_value(report->run[i].config, titles[c], text, sizeof text);
            hu_html_text(page, text);
        }
        hu_html_text(page, report->run[i].folder);
        hu_html_row_end(page);
    }
    hu_html_table_end(page);
}

/* Every key that the runs share and that changes a training. */
static void put_shared(hu_page *page, const hu_report *report) {
    static const char *const titles[] = {"key", "value"};
    char text[VALUE_BYTES];
    hu_html_details(page, "All settings that the runs share", false);
    hu_html_table(page, titles, 2, 2);
    for (size_t i = 0; i < hu_config_key_count; i++) {
        const char *key = hu_config_keys[i].name;
        if (hu_config_key_is_free(key) || differs(report, key)) continue;
        print_value(report->run[0].config, key, text, sizeof text);
        hu_html_row(page, false);
        hu_html_text(page, key);
        hu_html_text(page, text);
        hu_html_row_end(page);
    }
    hu_html_table_end(page);
    hu_html_details_end(page);
}

static void report_settings(hu_page *page, const hu_report *report) {
    char text[1600];
    hu_html_section(page, "settings", "Settings", "");
    if (report->count > 1) put_differences(page, report);
    put_shared(page, report);
    for (size_t i = 0; i < report->count; i++) {
        if (!report->run[i].missing[0]) continue;
        snprintf(text, sizeof text, "%s (%.200s) lacks: %s", report->run[i].label,
                 report->run[i].folder, report->run[i].missing);
        hu_html_note(page, text);
    }
    hu_html_section_end(page);
}
