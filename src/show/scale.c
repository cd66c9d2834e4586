/* show/scale.c - linear scales and their round numbers. */
#include "show/scale.h"

#include <math.h>
#include <stdio.h>

#include "show/svg.h"

/* 1, 2, 5 or 10 times a power of ten, nearest to span / wanted on a logarithmic scale. */
static double round_step(double span, int wanted) {
    double raw = span / wanted, power = pow(10.0, floor(log10(raw)));
    double part = raw / power;
    return power * (part < 1.4 ? 1.0 : part < 3.2 ? 2.0 : part < 7.1 ? 5.0 : 10.0);
}

/* The ends are what is asked for. */
hu_scale hu_scale_exact(double low, double high, double from, double to) {
    if (!isfinite(low) || !isfinite(high) || high < low) low = 0.0, high = 1.0;
    if (!(high > low)) {
        double spread = fabs(low) > 0.0 ? 0.05 * fabs(low) : 0.5;
        low -= spread;
        high += spread;
    }
    return (hu_scale){low, high, from, to};
}

/* The ends are round numbers around what is asked for. */
hu_scale hu_scale_fit(double low, double high, double from, double to) {
    hu_scale scale = hu_scale_exact(low, high, from, to);
    double step = round_step(scale.high - scale.low, 6);
    /* 1e-9 of a step: a number that is round but for its last bits is not pushed outward. */
    scale.low = step * floor(scale.low / step + 1e-9);
    scale.high = step * ceil(scale.high / step - 1e-9);
    return scale;
}

double hu_scale_at(const hu_scale *scale, double value) {
    double part = (value - scale->low) / (scale->high - scale->low);
    return scale->from + part * (scale->to - scale->from);
}

hu_ticks hu_scale_ticks(const hu_scale *scale, int wanted) {
    hu_ticks ticks = {0};
    double step = round_step(scale->high - scale->low, wanted);
    double first = ceil(scale->low / step - 1e-9);
    for (int i = 0; i < HU_TICKS; i++) {
        double value = step * (first + i);
        if (value > scale->high + 1e-9 * step) break;
        ticks.at[ticks.count++] = fabs(value) < 1e-9 * step ? 0.0 : value;
    }
    double digits = ceil(-log10(step) - 1e-9);
    ticks.digits = digits > 0.0 ? (int)fmin(digits, 9.0) : 0;
    return ticks;
}

enum { UP_TICKS = 6, BESIDE = 14 };

double hu_axis_room(const hu_scale *y) {
    hu_ticks up = hu_scale_ticks(y, UP_TICKS);
    double room = 0.0;
    char text[64];
    for (int i = 0; i < up.count; i++) {
        snprintf(text, sizeof text, "%.*f", up.digits, up.at[i]);
        room = fmax(room, hu_svg_text_width(text));
    }
    return room + BESIDE;
}

void hu_axes_draw(hu_page *page, const hu_frame *frame, const hu_scale *x, const char *x_title,
                  const hu_scale *y, const char *y_title) {
    hu_ticks across = hu_scale_ticks(x, 7), up = hu_scale_ticks(y, UP_TICKS);
    hu_svg_group(page, "axes");
    for (int i = 0; i < up.count; i++) {
        double at = hu_scale_at(y, up.at[i]);
        hu_svg_line(page, frame->left, at, frame->right, at, "grid");
        hu_svg_format(page, frame->left - 8, at + 4, "tick end", "%.*f", up.digits, up.at[i]);
    }
    for (int i = 0; i < across.count; i++) {
        double at = hu_scale_at(x, across.at[i]);
        hu_svg_line(page, at, frame->bottom, at, frame->bottom + 5, "axis");
        hu_svg_format(page, at, frame->bottom + 19, "tick middle", "%.*f", across.digits,
                      across.at[i]);
    }
    hu_svg_line(page, frame->left, frame->bottom, frame->right, frame->bottom, "axis");
    hu_svg_text(page, frame->right, frame->bottom + 37, "title end", x_title);
    hu_svg_text(page, 2, 13, "title", y_title);
    hu_svg_group_end(page);
}
