/* box/box.h - rectangles in a picture: their forms, their overlap, and boxes as rows of numbers.
 *
 * All numbers are shares of the picture's width and height, in double; areas have no "+ 1".
 */
#ifndef HU_BOX_BOX_H
#define HU_BOX_BOX_H
#include <stdbool.h>
#include <stdint.h>

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
static inline double hu_share_inside(double x) {
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
bool hu_box_is_there(const float *row);

/* Whether it says that there is one that is difficult, of what class. */
bool hu_box_is_difficult(const float *row, int64_t *class_number);
bool hu_box_is_sound(const float *row, int64_t classes);

#endif
