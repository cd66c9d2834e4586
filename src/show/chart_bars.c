/* Memory by role: one bar for each run. */
#include <math.h>
#include <stdio.h>

#include "show/chart.h"
#include "show/scale.h"
#include "show/svg.h"

enum { TOP = 4, LABEL = 15, BAR = 16, ROW = 40, TOTAL = 52 };

/* Length of a whole bar. */
static double total_of(const hu_chart_bar *bar, size_t parts) {
    double total = 0.0;
    for (size_t i = 0; i < parts; i++) total += bar->part[i];
    return total;
}

/* One bar: its label above it, its parts side by side, its sum. */
static void draw_bar(hu_page *page, const hu_scale *x, const hu_chart_bar *bar,
                     const char *const *part, size_t parts, double y, const char *unit) {
    char name[64], tip[256];
    double sum = 0.0, total = total_of(bar, parts);
    hu_svg_text_begin(page, 2, y + LABEL - 3, "name", bar->label, HU_CHART_WIDTH - 8);
    for (size_t i = 0; i < parts; i++) {
        double from = hu_scale_at(x, sum), to = hu_scale_at(x, sum + bar->part[i]);
        sum += bar->part[i];
        /* Below a twentieth of a pixel nothing would be seen. */
        if (to - from < 0.05) continue;
        hu_area_class((int)i, name, sizeof name);
        snprintf(tip, sizeof tip, "%.80s: %.80s %.3g %s", bar->label, part[i], bar->part[i], unit);
        hu_svg_rect(page, from, y + LABEL, to - from, BAR, name, tip);
    }
    hu_svg_format(page, hu_scale_at(x, total) + 7, y + LABEL + 12, "tick", "%.1f", total);
}

void hu_chart_bars(hu_page *page, const hu_chart_bar *bar, size_t count, const char *const *part,
                   size_t parts, const char *unit) {
    double high = 0.0, bottom = TOP + ROW * (double)count;
    for (size_t i = 0; i < count; i++) high = fmax(high, total_of(&bar[i], parts));
    hu_scale x = hu_scale_exact(0.0, high, 2, HU_CHART_WIDTH - TOTAL);
    hu_ticks ticks = hu_scale_ticks(&x, 6);
    hu_svg_begin(page, HU_CHART_WIDTH, bottom + 40, "memory by role");
    for (int i = 0; i < ticks.count; i++) {
        double at = hu_scale_at(&x, ticks.at[i]);
        hu_svg_line(page, at, TOP, at, bottom, "grid");
        hu_svg_format(page, at, bottom + 14, i == 0 ? "tick" : "tick middle", "%.*f", ticks.digits,
                      ticks.at[i]);
    }
    hu_svg_text(page, HU_CHART_WIDTH - TOTAL, bottom + 32, "title end", unit);
    for (size_t i = 0; i < count; i++)
        draw_bar(page, &x, &bar[i], part, parts, TOP + ROW * (double)i, unit);
    hu_svg_end(page);
}
