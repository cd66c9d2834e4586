#include "render/svg.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 512, PLACE_BYTES = 32 };

/* A place to a tenth of a pixel, without ".0": pages hold thousands of them. */
static const char *place(double value, char text[PLACE_BYTES]) {
    snprintf(text, PLACE_BYTES, "%.1f", value);
    char *point = strchr(text, '.');
    if (point && point[1] == '0') *point = '\0';
    return strcmp(text, "-0") == 0 ? "0" : text;
}

void hu_svg_put_titles(hu_page *page) {
    enum { HEADING = 30 };
    static const char *const class_names[HU_PAGE_LEVELS] = {"heading large", "heading", "heading"};
    for (int level = 0; level < HU_PAGE_LEVELS; level++) {
        if (!page->waiting[level][0]) continue;
        page->bottom += HEADING;
        hu_svg_text(page, 0.0, page->bottom - 12.0, class_names[level], page->waiting[level]);
        page->waiting[level][0] = '\0';
    }
}

void hu_svg_begin(hu_page *page, double width, double height, const char *label) {
    if (page->is_picture) {
        hu_svg_put_titles(page);
        hu_page_put(page, "<g transform=\"translate(0 %.0f)\" role=\"img\" aria-label=\"",
                    page->bottom);
        hu_page_text(page, label);
        hu_page_put(page, "\">\n");
        page->bottom += height + 12.0;
        return;
    }
    hu_page_put(page,
                "<div class=\"chart\"><svg viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" role=\"img\" "
                "aria-label=\"",
                width, height, width);
    hu_page_text(page, label);
    hu_page_put(page, "\">\n");
}

/* The chart that ends, and its legend in front of it, are kept or forgotten. */
static void end_chart(hu_page *page) {
    page->chart++;
    if (page->only == 0 || page->chart == page->only) {
        page->kept = page->out.size;
        page->kept_bottom = page->bottom;
    } else {
        page->out.size = page->kept;
        page->bottom = page->kept_bottom;
    }
}

void hu_svg_end(hu_page *page) {
    hu_page_put(page, page->is_picture ? "</g>\n" : "</svg></div>\n");
    if (page->is_picture) end_chart(page);
}

void hu_svg_group(hu_page *page, const char *class_name) {
    hu_page_put(page, "<g class=\"%s\">", class_name);
}

void hu_svg_group_end(hu_page *page) {
    hu_page_put(page, "</g>\n");
}

void hu_svg_line(hu_page *page, double x1, double y1, double x2, double y2,
                 const char *class_name) {
    char a[PLACE_BYTES], b[PLACE_BYTES], c[PLACE_BYTES], d[PLACE_BYTES];
    hu_page_put(page, "<line x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\" class=\"%s\"/>\n",
                place(x1, a), place(y1, b), place(x2, c), place(y2, d), class_name);
}

/* The end of an element, with its tip inside. */
static void end_shape(hu_page *page, const char *element, const char *tip) {
    if (!tip || !*tip) {
        hu_page_put(page, "/>\n");
        return;
    }
    hu_page_put(page, "><title>");
    hu_page_text(page, tip);
    hu_page_put(page, "</title></%s>\n", element);
}

void hu_svg_rect(hu_page *page, double x, double y, double width, double height,
                 const char *class_name, const char *tip) {
    char a[PLACE_BYTES], b[PLACE_BYTES], c[PLACE_BYTES], d[PLACE_BYTES];
    hu_page_put(page, "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" class=\"%s\"",
                place(x, a), place(y, b), place(width, c), place(height, d), class_name);
    end_shape(page, "rect", tip);
}

void hu_svg_text(hu_page *page, double x, double y, const char *class_name, const char *text) {
    char a[PLACE_BYTES], b[PLACE_BYTES];
    hu_page_put(page, "<text x=\"%s\" y=\"%s\" class=\"%s\">", place(x, a), place(y, b),
                class_name);
    hu_page_text(page, text);
    hu_page_put(page, "</text>\n");
}

void hu_svg_format(hu_page *page, double x, double y, const char *class_name, const char *format,
                   ...) {
    char text[TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    hu_svg_text(page, x, y, class_name, text);
}

/* 2 with a raised exponent: letters of Unicode, no layout of our own. */
void hu_power_text(int exponent, char *text, size_t capacity) {
    static const char *const raised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    char digits[16];
    snprintf(digits, sizeof digits, "%d", exponent);
    snprintf(text, capacity, "2");
    for (const char *c = digits; *c; c++) {
        size_t used = strlen(text);
        snprintf(text + used, capacity - used, "%s", *c == '-' ? "⁻" : raised[*c - '0']);
    }
}

void hu_svg_power(hu_page *page, double x, double y, const char *class_name, int exponent) {
    char text[64];
    hu_power_text(exponent, text, sizeof text);
    hu_svg_text(page, x, y, class_name, text);
}

/* Corners in units of the radius; areas are about that of the circle. */
static const struct {
    int count;
    double x[12], y[12];
} shapes[] = {
    {0, {0}, {0}},
    {4, {-0.88, 0.88, 0.88, -0.88}, {-0.88, -0.88, 0.88, 0.88}},
    {3, {-1.15, 0.0, 1.15}, {0.85, -1.15, 0.85}},
    {4, {-1.2, 0.0, 1.2, 0.0}, {0.0, -1.2, 0.0, 1.2}},
    {12,
     {-1.1, -0.7, 0.0, 0.7, 1.1, 0.4, 1.1, 0.7, 0.0, -0.7, -1.1, -0.4},
     {-0.7, -1.1, -0.4, -1.1, -0.7, 0.0, 0.7, 1.1, 0.4, 1.1, 0.7, 0.0}},
    {3, {-1.15, 0.0, 1.15}, {-0.85, 1.15, -0.85}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

void hu_svg_mark(hu_page *page, int shape, double x, double y, double radius,
                 const char *class_name, const char *tip) {
    /* Shape 0 is the circle; series beyond the last shape begin again. */
    int s = shape % SHAPES;
    if (s == 0) {
        hu_page_put(page, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" class=\"%s\"", x, y, radius,
                    class_name);
        end_shape(page, "circle", tip);
        return;
    }
    hu_svg_path(page, class_name);
    for (int i = 0; i < shapes[s].count; i++)
        hu_svg_point(page, i == 0, x + radius * shapes[s].x[i], y + radius * shapes[s].y[i]);
    hu_svg_path_end(page, true, tip);
}

void hu_svg_path(hu_page *page, const char *class_name) {
    hu_page_put(page, "<path class=\"%s\" d=\"", class_name);
}

/* M moves, L draws a line from the point before. */
void hu_svg_point(hu_page *page, bool is_new, double x, double y) {
    char a[PLACE_BYTES], b[PLACE_BYTES];
    hu_page_put(page, "%c%s %s", is_new ? 'M' : 'L', place(x, a), place(y, b));
}

/* V and H draw upright and level lines from the point before. */
void hu_svg_step(hu_page *page, double x, double y) {
    char a[PLACE_BYTES], b[PLACE_BYTES];
    hu_page_put(page, "V%sH%s", place(y, b), place(x, a));
}

void hu_svg_path_end(hu_page *page, bool is_closed, const char *tip) {
    hu_page_put(page, is_closed ? "Z\"" : "\"");
    end_shape(page, "path", tip);
}

/* Three classes of letters at 12 pixels; bytes within a UTF-8 sequence have no width. */
double hu_svg_text_width(const char *text) {
    double width = 0.0;
    for (; *text; text++) {
        if (strchr(".,:;'|!iljt/()[] ", *text))
            width += 4.0;
        else if (strchr("mwMW%+=", *text))
            width += 10.2;
        else if (((unsigned char)*text & 0xc0) != 0x80)
            width += 7.2;
    }
    return width;
}

enum { REST = 11 }; /* pixels of the sign for the rest */

/* What is shown of a text, with the whole of it as tip where it is cut. */
static void cut_text(hu_page *page, double x, double y, const char *class_name, const char *shown,
                     const char *whole) {
    char a[PLACE_BYTES], b[PLACE_BYTES];
    hu_page_put(page, "<text x=\"%s\" y=\"%s\" class=\"%s\">", place(x, a), place(y, b),
                class_name);
    hu_page_text(page, shown);
    hu_page_put(page, "<title>");
    hu_page_text(page, whole);
    hu_page_put(page, "</title></text>\n");
}

void hu_svg_text_begin(hu_page *page, double x, double y, const char *class_name, const char *text,
                       double width) {
    char shown[TEXT_BYTES], whole[TEXT_BYTES + 4];
    if (hu_svg_text_width(text) <= width) {
        hu_svg_text(page, x, y, class_name, text);
        return;
    }
    snprintf(shown, sizeof shown, "%s", text);
    while (shown[0] && hu_svg_text_width(shown) > width - REST) shown[strlen(shown) - 1] = '\0';
    snprintf(whole, sizeof whole, "%s…", shown);
    cut_text(page, x, y, class_name, whole, text);
}

void hu_svg_text_tail(hu_page *page, double x, double y, const char *class_name, const char *text,
                      double width) {
    char shown[TEXT_BYTES];
    const char *tail = text;
    if (hu_svg_text_width(text) <= width) {
        hu_svg_text(page, x, y, class_name, text);
        return;
    }
    while (*tail && hu_svg_text_width(tail) > width - REST) tail++;
    snprintf(shown, sizeof shown, "…%s", tail);
    cut_text(page, x, y, class_name, shown, text);
}

/* ---- From numbers to places in a picture, and round numbers for the axis ---- */

/* 1, 2, 5 or 10 times a power of ten, nearest to span / wanted on a logarithmic scale. */
static double round_step(double span, int wanted) {
    double raw = span / wanted, power = pow(10.0, floor(log10(raw)));
    double part = raw / power;
    return power * (part < 1.4 ? 1.0 : part < 3.2 ? 2.0 : part < 7.1 ? 5.0 : 10.0);
}

/* The ends are what is asked for. */
hu_axis_scale hu_axis_scale_exact(double low, double high, double from, double to) {
    if (!isfinite(low) || !isfinite(high) || high < low) low = 0.0, high = 1.0;
    if (!(high > low)) {
        double spread = fabs(low) > 0.0 ? 0.05 * fabs(low) : 0.5;
        low -= spread;
        high += spread;
    }
    return (hu_axis_scale){low, high, from, to};
}

/* The ends are round numbers around what is asked for. */
hu_axis_scale hu_axis_scale_fit(double low, double high, double from, double to) {
    hu_axis_scale scale = hu_axis_scale_exact(low, high, from, to);
    double step = round_step(scale.high - scale.low, 6);
    /* 1e-9 of a step: a number that is round but for its last bits is not pushed outward. */
    scale.low = step * floor(scale.low / step + 1e-9);
    scale.high = step * ceil(scale.high / step - 1e-9);
    return scale;
}

double hu_axis_scale_at(const hu_axis_scale *scale, double value) {
    double part = (value - scale->low) / (scale->high - scale->low);
    return scale->from + part * (scale->to - scale->from);
}

hu_ticks hu_axis_scale_ticks(const hu_axis_scale *scale, int wanted) {
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

double hu_axis_room(const hu_axis_scale *y) {
    hu_ticks up = hu_axis_scale_ticks(y, UP_TICKS);
    double room = 0.0;
    char text[64];
    for (int i = 0; i < up.count; i++) {
        snprintf(text, sizeof text, "%.*f", up.digits, up.at[i]);
        room = fmax(room, hu_svg_text_width(text));
    }
    return room + BESIDE;
}

void hu_axes_draw(hu_page *page, const hu_frame *frame, const hu_axis_scale *x, const char *x_title,
                  const hu_axis_scale *y, const char *y_title) {
    hu_ticks across = hu_axis_scale_ticks(x, 7), up = hu_axis_scale_ticks(y, UP_TICKS);
    hu_svg_group(page, "axes");
    for (int i = 0; i < up.count; i++) {
        double at = hu_axis_scale_at(y, up.at[i]);
        hu_svg_line(page, frame->left, at, frame->right, at, "grid");
        hu_svg_format(page, frame->left - 8, at + 4, "tick end", "%.*f", up.digits, up.at[i]);
    }
    for (int i = 0; i < across.count; i++) {
        double at = hu_axis_scale_at(x, across.at[i]);
        hu_svg_line(page, at, frame->bottom, at, frame->bottom + 5, "axis");
        hu_svg_format(page, at, frame->bottom + 19, "tick middle", "%.*f", across.digits,
                      across.at[i]);
    }
    hu_svg_line(page, frame->left, frame->bottom, frame->right, frame->bottom, "axis");
    hu_svg_text(page, frame->right, frame->bottom + 37, "title end", x_title);
    hu_svg_text(page, 2, 13, "title", y_title);
    hu_svg_group_end(page);
}
