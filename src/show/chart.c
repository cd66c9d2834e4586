/* show/chart.c - what all charts share: the look of a series, and the legend. */
#include "show/chart.h"

#include <stdio.h>

#include "show/svg.h"

void hu_series_class(int series, char *text, size_t capacity) {
    snprintf(text, capacity, "c%d d%d", series % HU_SERIES_COLOURS, series / HU_SERIES_COLOURS % 3);
}

void hu_legend_draw(hu_page *page, const hu_legend_item *item, size_t count, int kind) {
    char name[64], full[96];
    hu_page_put(page, "<ul class=\"legend\">\n");
    for (size_t i = 0; i < count; i++) {
        hu_series_class(item[i].series, name, sizeof name);
        hu_page_put(page, "<li><svg width=\"22\" height=\"14\" aria-hidden=\"true\">");
        if (kind == HU_LEGEND_LINES) {
            snprintf(full, sizeof full, "line %s", name);
            hu_svg_line(page, 1, 7, 21, 7, full);
        } else if (kind == HU_LEGEND_MARKS) {
            snprintf(full, sizeof full, "mark %s", name);
            hu_svg_mark(page, item[i].series, 11, 7, 5, full, NULL);
        } else {
            snprintf(full, sizeof full, "area %s", name);
            hu_svg_rect(page, 4, 1, 14, 12, full, NULL);
        }
        hu_page_put(page, "</svg>");
        hu_page_text(page, item[i].name);
        hu_page_put(page, "</li>\n");
    }
    hu_page_put(page, "</ul>\n");
}
