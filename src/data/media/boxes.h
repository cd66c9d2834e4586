/* media/boxes.h - rectangles in a picture: overlap, rows of numbers, suppression, painting. */
#ifndef HU_BOX_BOXES_H
#define HU_BOX_BOXES_H
#include <stdbool.h>
#include <stdint.h>

/* ---- box ---- */

/* Rectangles in a picture: their forms, their overlap, and boxes as rows of numbers.
 *
 * All numbers are shares of the picture's width and height, in double; areas have no "+ 1".
 */

/* Numbers of a box in data and targets: corners, then its class. */
enum { HU_BOX_X1, HU_BOX_Y1, HU_BOX_X2, HU_BOX_Y2, HU_BOX_CLASS, HU_BOX_NUMBERS };

/* The class of a row that says that its box of class c is difficult: this less c. */
enum { HU_BOX_DIFFICULT = -2 };

/* Left, upper, right and lower side. */
typedef struct hu_box {
    double x1, y1, x2, y2;
} hu_box;

/* The same by its middle. */
typedef struct hu_centred {
    double cx, cy, w, h;
} hu_centred;

/* From one form to the other. */
hu_box hu_box_of(const hu_centred *centred);
hu_centred hu_box_centred(const hu_box *box);

/* The box of a row [5], which may be without area or outside the picture. */
hu_box hu_box_of_row(const float *row);

/* The nearest share of a picture, 0..1. */
static inline double hu_box_share_inside(double x) {
    if (x < 0.0) return 0.0;
    return x > 1.0 ? 1.0 : x;
}

/* What lies inside the picture. */
hu_box hu_box_clip(const hu_box *box);

/* Width x height; 0 where a side is not longer than 0. */
double hu_box_area(const hu_box *box);

/* Intersection over union; 0 if the union is 0. */
double hu_box_iou(const hu_box *a, const hu_box *b);

/* Whether a row says that there is a box: classes are numbers from 0; and whether that box can be
 * learned: a whole class below `classes`, finite corners, an area. */
bool hu_box_is_valid(const float *row);

/* Whether it says that there is one that is difficult, of what class. */
bool hu_box_is_difficult(const float *row, int64_t *class_number);
bool hu_box_is_sound(const float *row, int64_t classes);

/* ---- Boxes as four numbers beside an anchor: what a network says of them ---- */

enum { HU_OFFSETS = 4 };

/* What the offsets of centres and of logarithms of sizes are divided by. */
typedef struct hu_offset_scale {
    double centre, size;
} hu_offset_scale;

/* SSD and the last head of Faster-RCNN; its proposals. */
#define HU_OFFSET_SSD ((hu_offset_scale){0.1, 0.2})
#define HU_OFFSET_PLAIN ((hu_offset_scale){1.0, 1.0})

/* ((gx - ax) / aw, (gy - ay) / ah) / centre, (log(gw / aw), log(gh / ah)) / size. */
void hu_offset_encode(const hu_centred *anchor, const hu_centred *box, hu_offset_scale scale,
                      double offsets[HU_OFFSETS]);

/* The other way; logarithms of sizes end at log(1000 / 16), so that no box is infinite. */
hu_centred hu_offset_decode(const hu_centred *anchor, const float *offsets, hu_offset_scale scale);

/* ---- Of many boxes around one thing, the best one ---- */

/* One box that a network says, of one class. */
typedef struct hu_candidate {
    double score;
    int64_t index; /* of its anchor */
    hu_box box;
} hu_candidate;

/* The best candidates so far: at most `most`, in no order. */
typedef struct hu_nms_candidates {
    hu_candidate *list; /* [most]; Borrowed */
    int64_t most, count;
} hu_nms_candidates;

/* Takes a candidate, or leaves it where `most` better ones are present: of a larger score, or of
 * the same and a smaller index. The box is left to the caller. */
void hu_candidates_add(hu_nms_candidates *c, double score, int64_t index);

/* Best first. */
void hu_candidates_sort(hu_nms_candidates *c);

/* Non-maximum suppression: of sorted candidates with their boxes keeps, in their order, those whose
 * overlap with all kept before is at most the threshold; returns how many. */
int64_t hu_candidates_nms(hu_nms_candidates *c, double threshold);

/* ---- Boxes as outlines in a picture, for people ---- */

/* A picture of numbers in 0..1: [height, width, channels]. Borrowed. */
typedef struct hu_canvas {
    int64_t height, width, channels;
    float *pixels;
} hu_canvas;

/* Draws the sides of a box, one pixel wide and inside of it, in the colour of its class: eight
 * colours take turns; on one channel white and black do. What lies outside the picture is not
 * drawn. */
void hu_paint_box(const hu_canvas *canvas, const hu_box *box, int64_t class_number);

/* That colour, red, green and blue in 0..1, in pictures of so many channels. class_number >= 0. */
void hu_paint_colour(int64_t class_number, int64_t channels, float rgb[3]);

#endif
