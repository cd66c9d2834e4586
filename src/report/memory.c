/* Memory by role: the arena at its fullest, masters, optimizer and workers. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "report/report.h"
#include "show/chart.h"
#include "show/html.h"

enum { MAX_ROLES = 16 };

/* Entries of the ledger that are sums of others. */
static bool is_sum(const char *role) {
    return strcmp(role, "arena") == 0 || strcmp(role, "saved") == 0 || strcmp(role, "total") == 0;
}

/* Names of the roles that take memory in any run. */
static size_t list_roles(const hu_report *report, const char **roles) {
    size_t count = 0;
    for (size_t i = 0; i < report->count; i++) {
        json_t *ledger = json_object_get(report->run[i].result, "ledger_bytes");
        for (void *at = json_object_iter(ledger); at; at = json_object_iter_next(ledger, at)) {
            const char *role = json_object_iter_key(at);
            bool is_known = is_sum(role) || json_number_value(json_object_iter_value(at)) <= 0.0;
            for (size_t r = 0; r < count; r++) is_known = is_known || strcmp(roles[r], role) == 0;
            if (!is_known && count < MAX_ROLES) roles[count++] = role;
        }
    }
    return count;
}

/* A bar for each precision, of its first seed. */
static hu_status draw(hu_page *page, const hu_report *report, const char *const *roles,
                      size_t parts) {
    hu_chart_bar *bars = NULL;
    double(*numbers)[MAX_ROLES] = NULL;
    size_t count = 0;
    hu_status st;
    HU_TRY(HU_NEW_ARRAY(&bars, (size_t)report->precisions));
    HU_TRY(HU_NEW_ARRAY(&numbers, (size_t)report->precisions));
    for (size_t i = 0; i < report->count; i++) {
        const hu_report_run *run = &report->run[i];
        const json_t *ledger = json_object_get(run->result, "ledger_bytes");
        if (!run->is_first || !ledger) continue;
        double *part = numbers[count];
        for (size_t r = 0; r < parts; r++) {
            double bytes = hu_json_real(ledger, roles[r]);
            part[r] = bytes > 0.0 ? bytes / 1048576.0 : 0.0;
        }
        bars[count++] = (hu_chart_bar){run->name, part};
    }
    hu_chart_bars(page, bars, count, roles, parts, "MiB");
done:
    hu_free(bars);
    hu_free(numbers);
    return st;
}

void hu_report_memory(hu_page *page, const hu_report *report) {
    const char *roles[MAX_ROLES];
    hu_legend_item item[MAX_ROLES];
    size_t parts = list_roles(report, roles);
    if (parts == 0) return;
    hu_html_section(page, "memory", "Memory by role",
                    "The arena at its fullest moment by what lies in it, and masters, optimizer "
                    "and the gradients of several workers with what travels between them, at the "
                    "end of the training; the ledger that is checked against the allocator.");
    for (size_t r = 0; r < parts; r++) item[r] = (hu_legend_item){roles[r], (int)r};
    hu_legend_draw(page, item, parts, HU_LEGEND_AREAS);
    hu_html_panels(page);
    hu_html_panel(page, NULL);
    hu_status st = draw(page, report, roles, parts);
    hu_html_panel_end(page);
    hu_html_panels_end(page);
    if (st != HU_OK && page->status == HU_OK) page->status = st;
    hu_html_section_end(page);
}
