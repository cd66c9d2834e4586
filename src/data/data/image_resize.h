/* data/image_resize.h - images cut, turned and resized. */
#ifndef HU_DATA_IMAGE_RESIZE_H
#define HU_DATA_IMAGE_RESIZE_H
#include <stdint.h>

#include <halfulp/status.h>

#include "data/image.h"
#include "data/reader.h"

/* ---- bicubic ---- */

/* Pictures of three channels made larger or smaller by cubic splines, as Pillow
 * does it: what super-resolution learns from, and what it is compared with.
 */

/* from [height, width, 3] -> to [to_height, to_width, 3]. Keys' kernel with a = -1/2, as wide as
 * the pixels that a target pixel covers; weights beyond the border are left out, the others sum to
 * 1. Columns first, then rows, each in double and rounded to bytes, half up. Pillow computes with
 * weights of 22 bits: of 100,000 bytes three differ, by one. HU_ERR_MEMORY.
 * Proof: tests/unit/data_bicubic_test.c. */
hu_status hu_bicubic_resize(const uint8_t *from, int64_t height, int64_t width, int64_t to_height,
                            int64_t to_width, uint8_t *to);

/* ---- The random rectangles that large images are trained on ---- */

/* A rectangle inside of a picture of width x height pixels, a function of (change, index) and these
 * two alone: Inception's crop as torchvision's RandomResizedCrop makes it. Up to ten tries, try t
 * with words 0..3 of block 10 index + t of key {seed, "resized crop", epoch}, u_i = word i / 2^32:
 *
 *   share = area + (1 - area) u_0, ratio = exp(log(3/4) + (log(4/3) - log(3/4)) u_1)
 *   w = sqrt(width height share ratio), h = sqrt(width height share / ratio), rounded half up
 *   accepted if 1 <= w <= width and 1 <= h <= height;
 *   left = floor((width - w + 1) u_2), top = floor((height - h + 1) u_3)
 *
 * Without success the middle: all of the picture, or as much as a ratio from 3/4 to 4/3 leaves.
 * Proof: tests/unit/data_crop_test.c. */
hu_image_cut hu_image_random_cut(const hu_reading_change *change, int64_t index, int64_t width,
                                 int64_t height);

#endif
