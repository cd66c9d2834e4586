/* The settings: what differs between the runs, and what they share. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "config/config.h"
#include "config/used.h"
#include "report/report.h"
#include "show/html.h"

enum { VALUE_BYTES = 160, MAX_COLUMNS = 12 };

/* A value as one line; lists with commas. */
static void print_value(const hu_keys *config, const char *key, char *text, size_t capacity) {
    const hu_keys *node = hu_keys_find(config, key);
    size_t used = 0;
    text[0] = '\0';
    if (!node) {
        snprintf(text, capacity, "not there");
    } else if (hu_keys_kind_of(node) == HU_KEYS_TEXT) {
        snprintf(text, capacity, "%s", hu_keys_value(node));
    } else {
        for (size_t i = 0; i < hu_keys_count(node) && used < capacity; i++) {
            int wrote = snprintf(text + used, capacity - used, "%s%s", i ? ", " : "",
                                 hu_keys_value(hu_keys_at(node, i)));
            used += wrote > 0 ? (size_t)wrote : 0;
        }
    }
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

void hu_report_settings(hu_page *page, const hu_report *report) {
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
