#include <math.h>
#include <stdio.h>
#include <string.h>

#include "render/chart.h"
#include "render/svg.h"

/* ---- Bits of every group or layer over the steps ---- */

enum { LEFT = 80, LEFT_MOST = 150, RIGHT = 452, TOP = 34, ROW = 18, LEVELS = 7, LETTER = 7 };

/* The least bits and fewer: 0; the most: LEVELS - 1; logarithmic between. */
static int level_of(const hu_heat_words *words, double bits) {
    double least = log2(words->least), most = log2(words->most);
    double level = (log2(fmax(bits, 1.0)) - least) / (most - least) * (LEVELS - 1);
    if (!(most > least)) return LEVELS - 1;
    return (int)lround(fmin(fmax(level, 0.0), LEVELS - 1));
}

/* Room for the longest name, if that is not too long. */
static double left_of(const hu_chart_row *row, size_t count) {
    size_t longest = 0;
    for (size_t i = 0; i < count; i++)
        if (strlen(row[i].label) > longest) longest = strlen(row[i].label);
    return fmin(fmax(LEFT, 14.0 + LETTER * (double)longest), LEFT_MOST);
}

/* A stretch of steps in which the group's bits did not change; wide ones show their number. */
static void draw_span(hu_page *page, const hu_heat_words *words, const hu_axis_scale *x,
                      const hu_chart_row *row, const hu_chart_span *span, double y) {
    char name[32], tip[256];
    double from = hu_axis_scale_at(x, span->from), to = hu_axis_scale_at(x, span->to);
    snprintf(name, sizeof name, "heat h%d", level_of(words, span->bits));
    snprintf(tip, sizeof tip, "%.120s: %.4g bits, steps %.0f to %.0f", row->label, span->bits,
             span->from, span->to);
    hu_svg_rect(page, from, y, fmax(to - from, 0.5), ROW - 2, name, tip);
    if (to - from > 24.0)
        hu_svg_format(page, 0.5 * (from + to), y + 12,
                      level_of(words, span->bits) >= 4 ? "bits dark middle" : "bits middle",
                      span->bits == floor(span->bits) ? "%.0f" : "%.1f", span->bits);
}

/* A square with its number for each number of bits. */
static void draw_key(hu_page *page, const hu_heat_words *words) {
    enum { KEY_LEFT = 216, KEY_WIDTH = 22, KEY_MOST = 15 };
    char name[32];
    for (int i = 0; i < KEY_MOST && words->least + i <= words->most; i++) {
        double bits = words->least + i, x = KEY_LEFT + KEY_WIDTH * i;
        int level = level_of(words, bits);
        snprintf(name, sizeof name, "heat h%d", level);
        hu_svg_rect(page, x, 1, KEY_WIDTH - 2, ROW - 2, name, NULL);
        hu_svg_format(page, x + 0.5 * (KEY_WIDTH - 2), 13,
                      level >= 4 ? "bits dark middle" : "bits middle", "%.0f", bits);
    }
}

void hu_chart_heat(hu_page *page, const hu_heat_words *words, const hu_chart_row *row, size_t count,
                   double steps) {
    double left = left_of(row, count);
    hu_axis_scale x = hu_axis_scale_exact(0.0, steps, left, RIGHT);
    double bottom = TOP + ROW * (double)count;
    hu_ticks ticks = hu_axis_scale_ticks(&x, 7);
    hu_svg_begin(page, HU_CHART_WIDTH, bottom + 40, words->label);
    hu_svg_text_begin(page, 2, 13, "title", words->title, words->has_key ? 206 : HU_CHART_WIDTH);
    if (words->has_key) draw_key(page, words);
    for (size_t i = 0; i < count; i++) {
        double y = TOP + ROW * (double)i;
        hu_svg_text_tail(page, left - 8, y + 12, "tick end", row[i].label, left - 10);
        for (size_t k = 0; k < row[i].count; k++)
            draw_span(page, words, &x, &row[i], &row[i].span[k], y);
        hu_svg_text(page, RIGHT + 10, y + 12, "tick", row[i].note);
    }
    for (int i = 0; i < ticks.count; i++) {
        double at = hu_axis_scale_at(&x, ticks.at[i]);
        hu_svg_line(page, at, bottom, at, bottom + 4, "axis");
        hu_svg_format(page, at, bottom + 17, "tick middle", "%.*f", ticks.digits, ticks.at[i]);
    }
    hu_svg_text(page, RIGHT, bottom + 34, "title end", "step");
    hu_svg_text(page, HU_CHART_WIDTH - 4, TOP - 8, "title end", words->note_title);
    hu_svg_end(page);
}

/* ---- chart ridges ---- */

/* Exponent histograms as ridges: what a tensor's numbers are, and what its format holds of them. */

enum {
    NAME_WIDTH = 114,
    PLOT_RIGHT = 304,
    COLUMN = 50,
    RIDGES_ROW = 20,
    RIDGE = 17, /* of the highest bin */
    RULER = 16,
    HEAD = 34, /* of the columns' titles */
    LEAST_BITS = 12,
    MANY = 25 /* rows from which the columns are named below too */
};

typedef struct panel {
    hu_axis_scale x;
    double top;   /* of the first row */
    bool has_own; /* the column of the ridges' own ranges */
    const hu_ridge_heads *heads;
} panel;

static double share_of_peak(const hu_chart_ridge *ridge, uint32_t i) {
    uint64_t peak = 1;
    for (uint32_t k = 0; k < ridge->count; k++)
        if (ridge->bin[k] > peak) peak = ridge->bin[k];
    return (double)ridge->bin[i] / (double)peak;
}

void hu_ridges_span(const hu_chart_ridge *ridge, size_t count, hu_ridge_span *span) {
    if (span->low >= span->high) *span = (hu_ridge_span){INFINITY, -INFINITY};
    for (size_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < ridge[i].count; k++) {
            if (share_of_peak(&ridge[i], k) < 1e-3) continue;
            span->low = fmin(span->low, ridge[i].first + (int)k);
            span->high = fmax(span->high, ridge[i].first + (int)k + 1);
        }
}

/* From the lowest to the highest exponent that any tensor has; rare ends are not cut. */
static hu_axis_scale fit_exponents(const hu_chart_ridge *ridge, size_t count, hu_ridge_span span) {
    hu_ridges_span(ridge, count, &span);
    double low = span.low, high = span.high;
    if (!(high >= low + LEAST_BITS)) low = high - LEAST_BITS;
    if (!isfinite(low)) low = -LEAST_BITS, high = 0.0;
    return hu_axis_scale_exact(low - 1.0, high + 1.0, NAME_WIDTH, PLOT_RIGHT);
}

/* Pixels of an exponent; beyond the plot: its edge. */
static double place(const panel *p, double exponent) {
    return hu_axis_scale_at(&p->x, fmin(fmax(exponent, p->x.low), p->x.high));
}

/* Bar of a format: subnormal numbers, then normal ones, up to overflow. */
static void draw_range(hu_page *page, const panel *p, const hu_chart_range *range, double y,
                       double height, bool has_tip) {
    double vanish = place(p, range->vanish), normal = place(p, range->normal);
    double top = place(p, range->top);
    char tip[160];
    snprintf(tip, sizeof tip, "%.60s: normal numbers from 2^%.0f, kept from 2^%.0f, below 2^%.1f",
             range->name, range->normal, range->vanish, range->top);
    if (normal > vanish)
        hu_svg_rect(page, vanish, y, normal - vanish, height, "subnormal", has_tip ? tip : NULL);
    if (top > normal)
        hu_svg_rect(page, normal, y, top - normal, height, "normal", has_tip ? tip : NULL);
}

/* Height of the step at an exponent. */
static double height_at(const hu_chart_ridge *ridge, double exponent) {
    double i = floor(exponent) - ridge->first;
    return i >= 0.0 && i < ridge->count ? RIDGE * share_of_peak(ridge, (uint32_t)i) : 0.0;
}

/* The part of a ridge between two exponents, as a closed shape of steps. */
static void draw_part(hu_page *page, const panel *p, const hu_chart_ridge *ridge, double base,
                      double from, double to, const char *name) {
    char tip[240];
    from = fmax(fmax(from, p->x.low), ridge->first);
    to = fmin(fmin(to, p->x.high), ridge->first + (double)ridge->count);
    if (to <= from) return;
    snprintf(tip, sizeof tip, "%.160s: %.3g %% of its numbers are zero", ridge->name,
             100.0 * ridge->zero);
    hu_svg_path(page, name);
    hu_svg_point(page, true, place(p, from), base);
    for (double left = from; left < to; left = floor(left) + 1.0) {
        double right = fmin(floor(left) + 1.0, to);
        hu_svg_step(page, place(p, right), base - height_at(ridge, left));
    }
    hu_svg_point(page, false, place(p, to), base);
    hu_svg_path_end(page, true, ridge->zero > 0.0 ? tip : NULL);
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

/* Right edge of column i: 0 is that of the own ranges, then the candidates. */
static double column(int i) {
    return PLOT_RIGHT + COLUMN * (i + 1) + 2.0;
}

/* Why nothing of it could be drawn or lost; NULL: there are such numbers. */
static const char *emptiness_of(const hu_chart_ridge *ridge) {
    if (ridge->count > 0 && ridge->zero < 1.0 && ridge->nonfinite < 1.0) return NULL;
    if (ridge->nonfinite <= 0.0) return "all zero";
    return ridge->zero > 0.0 ? "all zero, infinite or NaN" : "all infinite or NaN";
}

static void draw_shares(hu_page *page, const panel *p, const hu_chart_ridge *ridge, double y) {
    if (p->has_own) put_share(page, column(0), y, ridge->has_range ? ridge->lost : (double)NAN);
    for (int i = 0; i < HU_RIDGE_CANDIDATES; i++)
        if (p->heads->candidate[i].name) put_share(page, column(i + 1), y, ridge->candidate[i]);
}

/* One tensor: its name, its ridge with the lost ends in red, and its columns. */
static void draw_row(hu_page *page, const panel *p, const hu_chart_ridge *ridge, double base,
                     int series) {
    char name[64];
    snprintf(name, sizeof name, "ridge c%d", series % HU_SERIES_COLOURS);
    hu_svg_text_tail(page, NAME_WIDTH - 8, base - 4, "name end", ridge->name, NAME_WIDTH - 12);
    const char *empty = emptiness_of(ridge);
    if (empty) {
        hu_svg_text(page, 0.5 * (NAME_WIDTH + PLOT_RIGHT), base - 4, "lost3 middle", empty);
        return;
    }
    if (ridge->has_range) {
        draw_part(page, p, ridge, base, ridge->range.vanish, ridge->range.top, name);
        draw_part(page, p, ridge, base, -INFINITY, ridge->range.vanish, "lostpart");
        draw_part(page, p, ridge, base, ridge->range.top, INFINITY, "lostpart");
    } else {
        draw_part(page, p, ridge, base, -INFINITY, INFINITY, name);
    }
    draw_shares(page, p, ridge, base - 4);
}

static void draw_columns(hu_page *page, const panel *p, double y) {
    if (p->has_own) hu_svg_text(page, column(0), y, "tick end", p->heads->own);
    for (int i = 0; i < HU_RIDGE_CANDIDATES; i++)
        if (p->heads->candidate[i].name)
            hu_svg_text(page, column(i + 1), y, "tick end", p->heads->candidate[i].name);
}

/* "2⁻²⁴ to 2¹⁶" */
static void draw_ends(hu_page *page, const hu_chart_range *range, double y) {
    char low[32], high[32];
    hu_power_text((int)floor(range->vanish), low, sizeof low);
    hu_power_text((int)ceil(range->top), high, sizeof high);
    hu_svg_format(page, PLOT_RIGHT + 10, y, "tick", "%s to %s", low, high);
}

/* The candidates' ranges as bars on top, and the heads of the columns. */
static void draw_head(hu_page *page, const panel *p) {
    double y = 2;
    for (int i = 0; i < HU_RIDGE_CANDIDATES; i++) {
        const hu_chart_range *range = &p->heads->candidate[i];
        if (!range->name) continue;
        hu_svg_format(page, NAME_WIDTH - 8, y + 10, "tick end", "range of %s", range->name);
        draw_range(page, p, range, y + 2, RULER - 6, true);
        draw_ends(page, range, y + 10);
        y += RULER;
    }
    if (y > 2)
        hu_svg_text(page, HU_CHART_WIDTH - 2, p->top - 20, "title end", "% lost if rounded to");
    draw_columns(page, p, p->top - 4);
}

/* Powers of two as grid lines. */
static void draw_exponents(hu_page *page, const panel *p, double bottom) {
    enum { MOST_TICKS = 6 };
    hu_ticks ticks = hu_axis_scale_ticks(&p->x, MOST_TICKS);
    for (int wanted = MOST_TICKS; ticks.count > MOST_TICKS && wanted > 1; wanted--)
        ticks = hu_axis_scale_ticks(&p->x, wanted - 1);
    for (int i = 0; i < ticks.count; i++) {
        if (ticks.at[i] != floor(ticks.at[i])) continue;
        double x = hu_axis_scale_at(&p->x, ticks.at[i]);
        hu_svg_line(page, x, 2, x, bottom, "grid");
        hu_svg_power(page, x, bottom + 15, "tick middle", (int)ticks.at[i]);
    }
}

void hu_chart_ridges(hu_page *page, const hu_chart_ridge *ridge, size_t count,
                     const hu_ridge_heads *heads, int series, const char *label) {
    int rulers = 0;
    for (int i = 0; i < HU_RIDGE_CANDIDATES; i++) rulers += heads->candidate[i].name != NULL;
    panel p = {fit_exponents(ridge, count, heads->span), (double)(RULER * rulers + HEAD), false,
               heads};
    double bottom = p.top + RIDGES_ROW * (double)count;
    for (size_t i = 0; i < count; i++) p.has_own = p.has_own || ridge[i].has_range;
    hu_svg_begin(page, HU_CHART_WIDTH, bottom + 24, label);
    draw_exponents(page, &p, bottom);
    for (size_t i = 0; i < count; i++) {
        double base = p.top + RIDGES_ROW * (double)(i + 1);
        if (ridge[i].has_range && !emptiness_of(&ridge[i]))
            draw_range(page, &p, &ridge[i].range, base - RIDGES_ROW + 1, RIDGES_ROW - 2, false);
    }
    draw_head(page, &p);
    if (count > MANY) draw_columns(page, &p, bottom + 15);
    for (size_t i = 0; i < count; i++)
        draw_row(page, &p, &ridge[i], p.top + RIDGES_ROW * (double)(i + 1), series);
    hu_svg_end(page);
}
