/* report/shown.c - sections that draw some of the runs: how many there are, and what is said of the
 * rest; and files of pictures. */
#include <stdio.h>

#include "base/file.h"
#include "base/memory.h"
#include "report/report.h"
#include "show/html.h"

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

/* The runs behind those that are shown, by their names. */
static void put_left_out(hu_page *page, const hu_report *report, const hu_report_part *part,
                         int shown, int all) {
    char text[1200];
    int count = 0;
    size_t used = (size_t)snprintf(text, sizeof text,
                                   "The first %d of %d runs are %s: halfulp report RUN has those "
                                   "of one run. Left out:",
                                   shown, all, part->verb);
    for (size_t i = 0; i < report->count && used < sizeof text; i++) {
        if (!part->has(&report->run[i]) || count++ < shown) continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s %s",
                                 count == shown + 1 ? "" : ",", report->run[i].name);
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
