#include "media/boxes.h"

#include <math.h>

#include "base/elementary.h"

/* ---- box ---- */

/* Rectangles in a picture: their forms, their overlap, and boxes as rows of numbers.
 *
 * All numbers are shares of the picture's width and height, in double; areas have no "+ 1".
 */

hu_box hu_box_of(const hu_centred *c) {
    return (hu_box){c->cx - c->w / 2, c->cy - c->h / 2, c->cx + c->w / 2, c->cy + c->h / 2};
}

hu_centred hu_box_centred(const hu_box *b) {
    return (hu_centred){(b->x1 + b->x2) / 2, (b->y1 + b->y2) / 2, b->x2 - b->x1, b->y2 - b->y1};
}

hu_box hu_box_of_row(const float *row) {
    return (hu_box){row[HU_BOX_X1], row[HU_BOX_Y1], row[HU_BOX_X2], row[HU_BOX_Y2]};
}

hu_box hu_box_clip(const hu_box *b) {
    return (hu_box){hu_box_share_inside(b->x1), hu_box_share_inside(b->y1),
                    hu_box_share_inside(b->x2), hu_box_share_inside(b->y2)};
}

double hu_box_area(const hu_box *b) {
    double width = b->x2 - b->x1, height = b->y2 - b->y1;
    return width > 0.0 && height > 0.0 ? width * height : 0.0;
}

/* Most pairs of boxes do not meet: they end at a comparison. */
double hu_box_iou(const hu_box *a, const hu_box *b) {
    double left = a->x1 > b->x1 ? a->x1 : b->x1, right = a->x2 < b->x2 ? a->x2 : b->x2;
    if (!(right > left)) return 0.0;
    double top = a->y1 > b->y1 ? a->y1 : b->y1, bottom = a->y2 < b->y2 ? a->y2 : b->y2;
    if (!(bottom > top)) return 0.0;
    double common = (right - left) * (bottom - top);
    return common / (hu_box_area(a) + hu_box_area(b) - common);
}

bool hu_box_is_valid(const float *row) {
    return !(row[HU_BOX_CLASS] < 0.0f);
}

bool hu_box_is_difficult(const float *row, int64_t *class_number) {
    if (!(row[HU_BOX_CLASS] <= (float)HU_BOX_DIFFICULT)) return false;
    *class_number = HU_BOX_DIFFICULT - (int64_t)row[HU_BOX_CLASS];
    return true;
}

bool hu_box_is_sound(const float *row, int64_t classes) {
    float of_class = row[HU_BOX_CLASS];
    for (int i = 0; i < HU_BOX_CLASS; i++)
        if (!isfinite(row[i])) return false;
    /* Corners are float32: an area may be too small for it and still be one. */
    bool has_area = row[HU_BOX_X2] > row[HU_BOX_X1] && row[HU_BOX_Y2] > row[HU_BOX_Y1];
    return has_area && (double)of_class < (double)classes && of_class == floorf(of_class);
}

/* ---- Boxes as four numbers beside an anchor: what a network says of them ---- */

void hu_offset_encode(const hu_centred *anchor, const hu_centred *box, hu_offset_scale scale,
                      double offsets[HU_OFFSETS]) {
    offsets[0] = (box->cx - anchor->cx) / anchor->w / scale.centre;
    offsets[1] = (box->cy - anchor->cy) / anchor->h / scale.centre;
    offsets[2] = hu_log(box->w / anchor->w) / scale.size;
    offsets[3] = hu_log(box->h / anchor->h) / scale.size;
}

/* A size beside that of the anchor. */
static double stretched(double side, double logarithm) {
    const double most = 1000.0 / 16.0;
    double factor = hu_exp(logarithm);
    return side * (factor > most ? most : factor);
}

hu_centred hu_offset_decode(const hu_centred *anchor, const float *offsets, hu_offset_scale scale) {
    return (hu_centred){anchor->cx + (double)offsets[0] * scale.centre * anchor->w,
                        anchor->cy + (double)offsets[1] * scale.centre * anchor->h,
                        stretched(anchor->w, (double)offsets[2] * scale.size),
                        stretched(anchor->h, (double)offsets[3] * scale.size)};
}

/* ---- Of many boxes around one thing, the best one ---- */

static bool is_better(const hu_candidate *a, const hu_candidate *b) {
    return a->score > b->score || (a->score == b->score && a->index < b->index);
}

/* Moves a candidate down a heap whose worst one is at the front. */
static void sink(hu_candidate *list, int64_t count, int64_t at) {
    hu_candidate moved = list[at];
    for (int64_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && is_better(&list[child], &list[child + 1])) child++;
        if (!is_better(&moved, &list[child])) break;
        list[at] = list[child];
        at = child;
    }
    list[at] = moved;
}

static void rise(hu_candidate *list, int64_t at) {
    hu_candidate moved = list[at];
    for (; at > 0 && is_better(&list[(at - 1) / 2], &moved); at = (at - 1) / 2)
        list[at] = list[(at - 1) / 2];
    list[at] = moved;
}

void hu_candidates_add(hu_nms_candidates *c, double score, int64_t index) {
    hu_candidate made = {.score = score, .index = index};
    if (c->count < c->most) {
        c->list[c->count++] = made;
        rise(c->list, c->count - 1);
    } else if (c->most > 0 && is_better(&made, &c->list[0])) {
        c->list[0] = made;
        sink(c->list, c->count, 0);
    }
}

void hu_candidates_sort(hu_nms_candidates *c) {
    for (int64_t left = c->count - 1; left > 0; left--) {
        hu_candidate worst = c->list[0];
        c->list[0] = c->list[left];
        c->list[left] = worst;
        sink(c->list, left, 0);
    }
}

int64_t hu_candidates_nms(hu_nms_candidates *c, double threshold) {
    int64_t kept = 0;
    for (int64_t i = 0; i < c->count; i++) {
        bool is_kept = true;
        for (int64_t k = 0; k < kept && is_kept; k++)
            is_kept = !(hu_box_iou(&c->list[i].box, &c->list[k].box) > threshold);
        if (is_kept) c->list[kept++] = c->list[i];
    }
    return c->count = kept;
}

/* ---- Boxes as outlines in a picture, for people ---- */

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
