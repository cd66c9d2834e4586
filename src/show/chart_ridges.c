/* Exponent histograms as ridges: what a tensor's numbers are, and what its format holds of them. */
#include <math.h>
#include <stdio.h>

#include "show/chart.h"
#include "show/scale.h"
#include "show/svg.h"

enum {
    NAME_WIDTH = 168,
    PLOT_RIGHT = 492,
    COLUMN = 52,
    ROW = 17,
    RIDGE = 27, /* of the highest bin: reaches into the row above */
    RULER = 15,
    LEAST_BITS = 12,
    MANY = 25 /* rows from which the columns are named below too */
};

typedef struct panel {
    hu_scale x;
    double top; /* of the first row */
} panel;

static double share_of_peak(const hu_chart_ridge *ridge, uint32_t i) {
    uint64_t peak = 1;
    for (uint32_t k = 0; k < ridge->count; k++)
        if (ridge->bin[k] > peak) peak = ridge->bin[k];
    return (double)ridge->bin[i] / (double)peak;
}

/* From the lowest to the highest exponent that any tensor has; rare ends are not cut. */
static hu_scale fit_exponents(const hu_chart_ridge *ridge, size_t count) {
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < ridge[i].count; k++) {
            if (share_of_peak(&ridge[i], k) < 1e-3) continue;
            low = fmin(low, ridge[i].first + (int)k);
            high = fmax(high, ridge[i].first + (int)k + 1);
        }
    if (!(high >= low + LEAST_BITS)) low = high - LEAST_BITS;
    if (!isfinite(low)) low = -LEAST_BITS, high = 0.0;
    return hu_scale_exact(low - 1.0, high + 1.0, NAME_WIDTH, PLOT_RIGHT);
}

/* Pixels of an exponent; beyond the plot: its edge. */
static double place(const panel *p, double exponent) {
    return hu_scale_at(&p->x, fmin(fmax(exponent, p->x.low), p->x.high));
}

/* Bar of a format: subnormal numbers, then normal ones, up to overflow. */
static void draw_range(hu_page *page, const panel *p, const hu_chart_range *range, double y,
                       double height) {
    double vanish = place(p, range->vanish), normal = place(p, range->normal);
    double top = place(p, range->top);
    char tip[160];
    snprintf(tip, sizeof tip, "%.60s: normal numbers from 2^%.0f, kept from 2^%.0f, below 2^%.1f",
             range->name, range->normal, range->vanish, range->top);
    if (normal > vanish) hu_svg_rect(page, vanish, y, normal - vanish, height, "subnormal", tip);
    if (top > normal) hu_svg_rect(page, normal, y, top - normal, height, "normal", tip);
}

/* Height of the ridge at an exponent: straight lines between the middles of the bins. */
static double height_at(const hu_chart_ridge *ridge, double exponent) {
    double at = exponent - ridge->first - 0.5;
    double floor_at = floor(at), part = at - floor_at;
    double left = 0.0, right = 0.0;
    int64_t i = (int64_t)floor_at;
    if (i >= 0 && i < ridge->count) left = share_of_peak(ridge, (uint32_t)i);
    if (i + 1 >= 0 && i + 1 < ridge->count) right = share_of_peak(ridge, (uint32_t)(i + 1));
    return left + part * (right - left);
}

/* The part of a ridge between two exponents, as a closed shape. */
static void draw_part(hu_page *page, const panel *p, const hu_chart_ridge *ridge, double base,
                      double from, double to, const char *name) {
    from = fmax(fmax(from, p->x.low), ridge->first - 0.5);
    to = fmin(fmin(to, p->x.high), ridge->first + (double)ridge->count + 0.5);
    if (to <= from) return;
    hu_svg_path(page, name);
    hu_svg_point(page, true, place(p, from), base);
    hu_svg_point(page, false, place(p, from), base - RIDGE * height_at(ridge, from));
    for (double middle = floor(from) + 0.5; middle < to; middle += 1.0)
        if (middle > from)
            hu_svg_point(page, false, place(p, middle), base - RIDGE * height_at(ridge, middle));
    hu_svg_point(page, false, place(p, to), base - RIDGE * height_at(ridge, to));
    hu_svg_point(page, false, place(p, to), base);
    hu_svg_path_end(page, true, NULL);
}

/* Percent that would be lost, in a colour that grows with it. */
static void put_share(hu_page *page, double x, double y, double share) {
    const char *name = share >= 0.1    ? "lost3 end"
                       : share >= 0.01 ? "lost2 end"
                       : share > 0.0   ? "lost1 end"
                                       : "lost0 end";
    if (!isfinite(share))
        hu_svg_text(page, x, y, "lost0 end", "-");
    else if (share <= 0.0)
        hu_svg_text(page, x, y, name, "0");
    else if (share < 0.0005)
        hu_svg_text(page, x, y, name, "<0.1");
    else
        hu_svg_format(page, x, y, name, share < 0.0995 ? "%.1f" : "%.0f", 100.0 * share);
}

/* Right edge of column i: 0 as trained, then the candidates. */
static double column(int i) {
    return PLOT_RIGHT + COLUMN * (i + 1) + 2.0;
}

/* The end of a long name tells more than its beginning. */
static void draw_name(hu_page *page, double y, const char *name) {
    char text[160];
    const char *shown = name;
    while (*shown && hu_svg_text_width(shown) > NAME_WIDTH - 26) shown++;
    snprintf(text, sizeof text, "%s%.140s", shown == name ? "" : "…", shown);
    hu_svg_text(page, NAME_WIDTH - 8, y, "name end", text);
}

/* One tensor: its name, its ridge with the lost ends in red, and its columns. */
static void draw_row(hu_page *page, const panel *p, const hu_chart_ridge *ridge, double base,
                     const hu_chart_range *candidate, int series) {
    char name[64];
    snprintf(name, sizeof name, "ridge c%d", series % HU_SERIES_COLOURS);
    draw_name(page, base - 2, ridge->name);
    if (ridge->has_range) {
        draw_part(page, p, ridge, base, ridge->range.vanish, ridge->range.top, name);
        draw_part(page, p, ridge, base, -INFINITY, ridge->range.vanish, "lostpart");
        draw_part(page, p, ridge, base, ridge->range.top, INFINITY, "lostpart");
    } else {
        draw_part(page, p, ridge, base, -INFINITY, INFINITY, name);
    }
    put_share(page, column(0), base - 2, ridge->has_range ? ridge->lost : (double)NAN);
    for (int i = 0; i < HU_RIDGE_CANDIDATES; i++)
        if (candidate[i].name) put_share(page, column(i + 1), base - 2, ridge->candidate[i]);
}

static void draw_columns(hu_page *page, double y, const hu_chart_range *candidate) {
    hu_svg_text(page, column(0), y, "tick end", "as trained");
    for (int i = 0; i < HU_RIDGE_CANDIDATES; i++)
        if (candidate[i].name) hu_svg_text(page, column(i + 1), y, "tick end", candidate[i].name);
}

/* The candidates' ranges as bars on top, and the heads of the columns. */
static void draw_head(hu_page *page, const panel *p, const hu_chart_range *candidate) {
    double y = 18;
    for (int i = 0; i < HU_RIDGE_CANDIDATES; i++) {
        if (!candidate[i].name) continue;
        hu_svg_text(page, NAME_WIDTH - 8, y + 9, "tick end", candidate[i].name);
        draw_range(page, p, &candidate[i], y, RULER - 5);
        y += RULER;
    }
    draw_columns(page, p->top - 10, candidate);
    hu_svg_text(page, PLOT_RIGHT + 12, 12, "title", "% lost if rounded to");
    hu_svg_text(page, 2, 12, "title", "range of");
}

/* Powers of two as grid lines. */
static void draw_exponents(hu_page *page, const panel *p, double bottom) {
    hu_ticks ticks = hu_scale_ticks(&p->x, 8);
    for (int i = 0; i < ticks.count; i++) {
        if (ticks.at[i] != floor(ticks.at[i])) continue;
        double x = hu_scale_at(&p->x, ticks.at[i]);
        hu_svg_line(page, x, 14, x, bottom, "grid");
        hu_svg_power(page, x, bottom + 15, "tick middle", (int)ticks.at[i]);
    }
}

void hu_chart_ridges(hu_page *page, const hu_chart_ridge *ridge, size_t count,
                     const hu_chart_range *candidate, int series, const char *label) {
    int rulers = 0;
    for (int i = 0; i < HU_RIDGE_CANDIDATES; i++) rulers += candidate[i].name != NULL;
    panel p = {fit_exponents(ridge, count), 18.0 + RULER * rulers + RIDGE};
    double bottom = p.top + ROW * (double)count;
    hu_svg_begin(page, HU_CHART_WIDTH, bottom + 24, HU_CHART_WIDTH - 80, label);
    draw_exponents(page, &p, bottom);
    for (size_t i = 0; i < count; i++) {
        double base = p.top + ROW * (double)(i + 1);
        if (ridge[i].has_range) draw_range(page, &p, &ridge[i].range, base - ROW + 3, ROW - 3);
    }
    draw_head(page, &p, candidate);
    if (count > MANY) draw_columns(page, bottom + 15, candidate);
    for (size_t i = 0; i < count; i++)
        draw_row(page, &p, &ridge[i], p.top + ROW * (double)(i + 1), candidate, series);
    hu_svg_end(page);
}
