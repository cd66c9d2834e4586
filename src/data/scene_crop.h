/* data/scene_crop.h - windows of scenes that are made larger or smaller at random, with their label
 * maps. */
#ifndef HU_DATA_SCENE_CROP_H
#define HU_DATA_SCENE_CROP_H
#include "data/image_map.h"
#include "data/scenes.h"

/* A scene of `scaled` pixels, and where the window that is seen begins in it. */
typedef struct hu_scene_crop {
    hu_scene_size scaled, window;
    int64_t top, left; /* 0 where the window is the larger one */
} hu_scene_crop;

/* What is seen of sample index, a function of (change, index) and the sizes alone: with words 0..2
 * of block index of key {seed, "scaled crop", epoch}, u_i = word i / 2^32,
 *
 *   ratio = least_scale + (most_scale - least_scale) u_0
 *   h = max(1, floor(height ratio)), w = max(1, floor(width ratio))
 *   top = floor((h - window height + 1) u_1), left = floor((w - window width + 1) u_2)
 *
 * Of a sample that is not changed (most_scale 0) the middle, unscaled. Source: Chen et al. 2017,
 * "DeepLab", 4.1; the recipe of fully convolutional networks. Proof: tests/unit/data_dense_test.c.
 */
hu_scene_crop hu_scene_random_crop(const hu_reading_change *change, int64_t index,
                                   const hu_scene_size *size, const hu_scene_size *window);

/* The window of a picture file as bytes [window height, window width, 3], black where the scaled
 * picture ends; file: the picture's own size. size: what the file must have unless it resizes.
 * Errors and room as hu_scene_read. */
hu_status hu_scene_read_crop(const char *path, const hu_scene_size *size, const hu_scene_crop *crop,
                             hu_image_room *room, uint8_t *pixels, hu_image *file);

/* labels [window height, window width]: the nearest of the map, never a mixture;
 * HU_UNLABELLED_BYTE where the scaled map ends. */
void hu_scene_take_labels(const hu_label_map *map, const hu_scene_crop *crop, uint8_t *labels);

#endif
