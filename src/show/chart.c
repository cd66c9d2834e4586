/* show/chart.c - what all charts share: the look of a series, and the legend. */
#include "show/chart.h"

#include <stdio.h>

#include "show/svg.h"

void hu_series_class(int series, char *text, size_t capacity) {
    enum { DASHES = 4 };
    snprintf(text, capacity, "c%d d%d", series % HU_SERIES_COLOURS, series % DASHES);
}

void hu_area_class(int series, char *text, size_t capacity) {
    enum { STRENGTHS = 3 };
    snprintf(text, capacity, "area c%d o%d", series % HU_SERIES_COLOURS,
             series / HU_SERIES_COLOURS % STRENGTHS);
}

/* The look of a series in 22 x 14 pixels. */
static void draw_sample(hu_page *page, const hu_legend_item *item, int kind, double x, double y) {
    char style[64], name[96];
    hu_series_class(item->series, style, sizeof style);
    if (kind == HU_LEGEND_AREAS) {
        hu_area_class(item->series, name, sizeof name);
        hu_svg_rect(page, x + 4, y + 1, 14, 12, name, NULL);
        return;
    }
    if (kind == HU_LEGEND_LINES) {
        snprintf(name, sizeof name, "line %s", style);
        hu_svg_line(page, x, y + 7, x + 30, y + 7, name);
    }
    snprintf(name, sizeof name, "mark %s", style);
    hu_svg_mark(page, item->series, x + (kind == HU_LEGEND_LINES ? 15 : 11), y + 7,
                kind == HU_LEGEND_LINES ? 3.6 : 5.0, name, NULL);
}

/* In a picture that is a file of its own: in lines that break at its edge. */
static void draw_inside(hu_page *page, const hu_legend_item *item, size_t count, int kind) {
    enum { ROW = 19, SAMPLE = 38, GAP = 16 };
    double x = 0.0;
    hu_svg_put_titles(page);
    for (size_t i = 0; i < count; i++) {
        double width = SAMPLE + hu_svg_text_width(item[i].name) + GAP;
        if (x > 0.0 && x + width > HU_CHART_WIDTH) page->bottom += ROW, x = 0.0;
        draw_sample(page, &item[i], kind, x, page->bottom);
        hu_svg_text(page, x + SAMPLE, page->bottom + 11, "tick", item[i].name);
        x += width;
    }
    page->bottom += ROW + 6;
}

void hu_legend_draw(hu_page *page, const hu_legend_item *item, size_t count, int kind) {
    if (page->is_picture) {
        draw_inside(page, item, count, kind);
        return;
    }
    hu_page_put(page, "<ul class=\"legend\">\n");
    for (size_t i = 0; i < count; i++) {
        hu_page_put(page, "<li><svg width=\"%d\" height=\"14\" aria-hidden=\"true\">",
                    kind == HU_LEGEND_LINES ? 30 : 22);
        draw_sample(page, &item[i], kind, 0.0, 0.0);
        hu_page_put(page, "</svg>");
        hu_page_text(page, item[i].name);
        hu_page_put(page, "</li>\n");
    }
    hu_page_put(page, "</ul>\n");
}
