#include "box/paint.h"

/* Orange, green, magenta, blue, yellow, red, cyan, white: apart from each other and from most
 * pictures. */
static const float colours[][3] = {{1, 0.6f, 0}, {0, 0.8f, 0.2f}, {1, 0, 1}, {0.2f, 0.4f, 1},
                                   {1, 1, 0},    {1, 0.1f, 0.1f}, {0, 1, 1}, {1, 1, 1}};
enum { COLOURS = sizeof colours / sizeof *colours, RGB = 3 };

void hu_paint_colour(int64_t class_number, int64_t channels, float rgb[3]) {
    const float *colour = colours[class_number % COLOURS];
    for (int c = 0; c < RGB; c++)
        rgb[c] = channels == RGB ? colour[c] : (float)(1 - class_number % 2);
}

static void paint(const hu_canvas *canvas, int64_t y, int64_t x, int64_t class_number) {
    float *pixel = canvas->pixels + (y * canvas->width + x) * canvas->channels, colour[RGB];
    hu_paint_colour(class_number, canvas->channels, colour);
    for (int64_t c = 0; c < canvas->channels; c++) pixel[c] = colour[c < RGB ? c : 0];
}

/* The pixel in which a side lies that is this share from the first; NaN and what is outside end at
 * the borders. */
static int64_t pixel_at(double share, int64_t extent) {
    double place = share * (double)extent;
    if (!(place > 0.0)) return 0;
    return place >= (double)(extent - 1) ? extent - 1 : (int64_t)place;
}

/* The last pixel inside; at least the first. */
static int64_t last_at(double share, int64_t extent, int64_t first) {
    int64_t end = pixel_at(share, extent);
    bool is_behind = end > first && (double)end >= share * (double)extent;
    return is_behind ? end - 1 : end;
}

void hu_paint_box(const hu_canvas *canvas, const hu_box *box, int64_t class_number) {
    hu_box inside = hu_box_clip(box);
    if (class_number < 0 || !(hu_box_area(&inside) > 0.0)) return;
    int64_t left = pixel_at(inside.x1, canvas->width), top = pixel_at(inside.y1, canvas->height);
    int64_t right = last_at(inside.x2, canvas->width, left);
    int64_t bottom = last_at(inside.y2, canvas->height, top);
    for (int64_t x = left; x <= right; x++) {
        paint(canvas, top, x, class_number);
        paint(canvas, bottom, x, class_number);
    }
    for (int64_t y = top; y <= bottom; y++) {
        paint(canvas, y, left, class_number);
        paint(canvas, y, right, class_number);
    }
}
