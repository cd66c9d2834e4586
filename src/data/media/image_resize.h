/* media/image_resize.h - images cut, turned and resized. */
#ifndef HU_MEDIA_IMAGE_RESIZE_H
#define HU_MEDIA_IMAGE_RESIZE_H
#include <stdint.h>

#include <halfulp/status.h>

#include "media/image.h"

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

#endif
