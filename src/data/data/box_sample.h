// clang-format off
/* data/box_sample.h - random windows of pictures with boxes, as SSD has them (Liu et al. 2016, 2.2
 * and 3.6): a picture is put on a larger canvas or not, and of that a patch is seen which overlaps
 * a box by at least so much, any patch, or all.
 *
 * In pixels of a picture of W x H; words of key {seed, "box sample", epoch}, block 512 index + t,
 * u_i = word i / 2^32:
 *
 *   canvas    where u_0 of block 0 < 1/2: of floor(W r) x floor(H r), r = 1 + 3 u_1, with the
 *             picture at floor((canvas width - W + 1) u_2), floor((canvas height - H + 1) u_3);
 *             else the picture
 *   patches   six samplers k = 0..5 of 50 tries t, block 2 + 50 k + t: side s = 0.3 + 0.7 u_0,
 *             ratio = low + (high - low) u_1, low = max(1/2, s^2), high = min(2, 1/s^2); of
 *             floor(canvas width s sqrt(ratio)) x floor(canvas height s / sqrt(ratio)), at least 1,
 *             at floor((canvas width - width + 1) u_2) and likewise by u_3. The first is taken
 *             whose overlap (intersection over union) with some box is at least 0.1, 0.3, 0.5, 0.7,
 *             0.9; of the last sampler the first one of all
 *   choice    of the canvas and the patches that were found, n in all: number floor(n u_0) of
 *             block 1
 *
 * As the released code of SSD draws them. A box is seen where its centre is, and is cut at the
 * border.
 */
// clang-format on
#ifndef HU_DATA_BOX_SAMPLE_H
#define HU_DATA_BOX_SAMPLE_H
#include "data/reader.h"

/* What is seen, in pixels of the picture, of which it may reach beyond. */
typedef struct hu_box_window {
    int64_t left, top, width, height;
} hu_box_window;

/* boxes [count, 5] as shares of the picture. A function of (change, index) and these alone; all of
 * the picture where change.samples is off. */
hu_box_window hu_box_window_draw(const hu_reading_change *change, int64_t index, int64_t width,
                                 int64_t height, const float *boxes, int64_t count);

/* A box [5] as shares of the window; false: its centre is not seen, moved is left alone. */
bool hu_box_window_move(const hu_box_window *window, int64_t width, int64_t height,
                        const float *box, float *moved);

/* The window as bytes [height, width, 3]; beyond the picture the mean of ImageNet. HU_ERR_MEMORY.
 */
hu_status hu_box_window_show(const hu_box_window *window, const hu_image *image, int64_t height,
                             int64_t width, hu_image_resizer *resizer, uint8_t *sample);

#endif
