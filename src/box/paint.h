/* box/paint.h - boxes as outlines in a picture, for people. */
#ifndef HU_BOX_PAINT_H
#define HU_BOX_PAINT_H
#include "box/box.h"

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
