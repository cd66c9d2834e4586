#include "report/memory.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "render/chart.h"
#include "render/html.h"
#include "render/table.h"
#include "report/report.h"

/* ---- plan memory ---- */

/* The ledger of a planned training, with packed (or dense) and with float32
 * storage. */

json_t *hu_plan_memory_json(const json_t *packed, const json_t *plain, const char *storage) {
    json_t *roles = json_object();
    const char *role;
    json_t *bytes;
    json_object_foreach((json_t *)packed, role, bytes) json_object_set_new(
        roles, role,
        json_pack("{s:O, s:O}", storage, bytes, "float32", json_object_get(plain, role)));
    return roles;
}

/* As MiB. Sizes are far below 2^53, so that doubles hold them exactly. */
static double mebibytes(const json_t *ledger, const char *role) {
    return (double)json_integer_value(json_object_get(ledger, role)) / 1048576.0;
}

/* Bytes of a role in both storages, and their ratio where the second is more than 0.00. */
static hu_status put_row(hu_table *table, const json_t *packed, const json_t *plain,
                         const char *role) {
    const double shown = 0.005;
    hu_status st = HU_OK;
    double one = mebibytes(packed, role), two = mebibytes(plain, role);
    HU_TRY(hu_table_cell(table, "%s", role));
    HU_TRY(hu_table_cell(table, "%.2f", one));
    HU_TRY(hu_table_cell(table, "%.2f", two));
    if (two >= shown)
        HU_TRY(hu_table_cell(table, "%.3f", one / two));
    else
        HU_TRY(hu_table_cell(table, "-"));
done:
    return st;
}

/* A product reads float32: a chunk has at least one sample, so large pictures need much of it. */
static void explain(const json_t *packed, const json_t *plain) {
    if (mebibytes(packed, "total") <= mebibytes(plain, "total") &&
        mebibytes(packed, "scratch") <= 2 * mebibytes(plain, "scratch"))
        return;
    puts("scratch: every thread unpacks what it reads of a chunk, and packs what it makes, in room "
         "of its own; float32 storage\nis read where it lies. Fewer threads=, a smaller run.chunk= "
         "(another result) or storage=float32 (the same one) need less.");
}

hu_status hu_plan_memory_print(json_t *packed, const json_t *plain, const char *storage) {
    const char *const titles[] = {"memory in MiB", storage, "float32", "ratio"};
    hu_status st = HU_OK;
    hu_table *table = NULL;
    char *text = NULL;
    const char *role;
    json_t *bytes;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, &table));
    json_object_foreach(packed, role, bytes) HU_TRY(put_row(table, packed, plain, role));
    HU_TRY(hu_table_print(table, &text));
    printf("\n%sarena: the roles above it where it is fullest; saved: what waits for the backward "
           "pass\n",
           text);
    explain(packed, plain);
done:
    hu_free(text);
    hu_table_free(table);
    return st;
}

/* ---- memory ---- */

/* Memory by role: the arena at its fullest, masters, optimizer and workers. */

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
