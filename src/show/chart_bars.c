/* Memory by role: one bar for each run. */
#include <math.h>
#include <stdio.h>

#include "show/chart.h"
#include "show/scale.h"
#include "show/svg.h"

enum { LEFT_LEAST = 190, LEFT_MOST = 400, TOP = 24, ROW = 24, GAP = 10 };

/* Room for labels: the longest decides, up to where the bars would become short. */
static double room_of(const hu_chart_bar *bar, size_t count) {
    double room = LEFT_LEAST;
    for (size_t i = 0; i < count; i++) room = fmax(room, hu_svg_text_width(bar[i].label) + 2 * GAP);
    return fmin(room, LEFT_MOST);
}

/* Length of a whole bar. */
static double total_of(const hu_chart_bar *bar, size_t parts) {
    double total = 0.0;
    for (size_t i = 0; i < parts; i++) total += bar->part[i];
    return total;
}

/* One bar: its label, its parts side by side, its sum. */
static void draw_bar(hu_page *page, const hu_scale *x, const hu_chart_bar *bar,
                     const char *const *part, size_t parts, double y, const char *unit) {
    char name[64], tip[256];
    double sum = 0.0, total = total_of(bar, parts);
    hu_svg_text_begin(page, x->from - GAP, y + 14, "name end", bar->label, x->from - 2 * GAP);
    for (size_t i = 0; i < parts; i++) {
        double from = hu_scale_at(x, sum), to = hu_scale_at(x, sum + bar->part[i]);
        sum += bar->part[i];
        /* Below a twentieth of a pixel nothing would be seen. */
        if (to - from < 0.05) continue;
        hu_area_class((int)i, name, sizeof name);
        snprintf(tip, sizeof tip, "%.80s: %.80s %.2f %s", bar->label, part[i], bar->part[i], unit);
        hu_svg_rect(page, from, y, to - from, ROW - 6, name, tip);
    }
    hu_svg_format(page, hu_scale_at(x, total) + 7, y + 14, "tick", "%.1f", total);
}

void hu_chart_bars(hu_page *page, const hu_chart_bar *bar, size_t count, const char *const *part,
                   size_t parts, const char *unit) {
    double high = 0.0, bottom = TOP + ROW * (double)count;
    for (size_t i = 0; i < count; i++) high = fmax(high, total_of(&bar[i], parts));
    hu_scale x = hu_scale_exact(0.0, high, room_of(bar, count), HU_CHART_WIDTH - 60);
    hu_ticks ticks = hu_scale_ticks(&x, 6);
    hu_svg_begin(page, HU_CHART_WIDTH, bottom + 40, HU_CHART_LEAST, "memory by role");
    for (int i = 0; i < ticks.count; i++) {
        double at = hu_scale_at(&x, ticks.at[i]);
        hu_svg_line(page, at, TOP - 6, at, bottom, "grid");
        hu_svg_format(page, at, bottom + 14, "tick middle", "%.*f", ticks.digits, ticks.at[i]);
    }
    hu_svg_text(page, HU_CHART_WIDTH - 60, bottom + 32, "title end", unit);
    for (size_t i = 0; i < count; i++)
        draw_bar(page, &x, &bar[i], part, parts, TOP + ROW * (double)i, unit);
    hu_svg_end(page);
}
