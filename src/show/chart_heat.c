/* Bits of every group or layer over the steps. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/chart.h"
#include "show/scale.h"
#include "show/svg.h"

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
static void draw_span(hu_page *page, const hu_heat_words *words, const hu_scale *x,
                      const hu_chart_row *row, const hu_chart_span *span, double y) {
    char name[32], tip[256];
    double from = hu_scale_at(x, span->from), to = hu_scale_at(x, span->to);
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
    hu_scale x = hu_scale_exact(0.0, steps, left, RIGHT);
    double bottom = TOP + ROW * (double)count;
    hu_ticks ticks = hu_scale_ticks(&x, 7);
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
        double at = hu_scale_at(&x, ticks.at[i]);
        hu_svg_line(page, at, bottom, at, bottom + 4, "axis");
        hu_svg_format(page, at, bottom + 17, "tick middle", "%.*f", ticks.digits, ticks.at[i]);
    }
    hu_svg_text(page, RIGHT, bottom + 34, "title end", "step");
    hu_svg_text(page, HU_CHART_WIDTH - 4, TOP - 8, "title end", words->note_title);
    hu_svg_end(page);
}
