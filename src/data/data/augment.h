/* data/augment.h - crops and mirrors of a sample's pictures, maps and boxes. */
#ifndef HU_DATA_AUGMENT_H
#define HU_DATA_AUGMENT_H
#include <halfulp/data.h>

#include "data/directory.h"
#include "data/reader.h"
#include "kernel/lookup/lookup.h"
#include "media/boxes.h"
#include "media/image.h"
#include "media/image_files.h"

/* ---- scenes ---- */

/* Pictures of one size, each with something that is told of it in a second file. */

/* Height and width that all pictures get. */
typedef struct hu_scene_size {
    int64_t height, width;
    bool resizes; /* pictures of other sizes; else they are errors */
    bool upright; /* turned as their EXIF says: nobody has marked anything in the file's pixels */
} hu_scene_size;

/* The size of a first picture; where size is above 0, with its shorter side made so long, and the
 * other in proportion, rounded down. HU_ERR_CORRUPT and others name the file. */
hu_status hu_scene_measure(const char *path, int64_t size, bool upright, hu_scene_size *scene);

/* A picture as bytes [scene->height, scene->width, 3]; file: its own size and orientation. Resized
 * as Pillow does, both sides for themselves. HU_ERR_CORRUPT where the file has another size than
 * the scene, which does not resize. room: of the calling thread. */
hu_status hu_scene_read(const char *path, const hu_scene_size *scene, hu_image_scratch *room,
                        uint8_t *pixels, hu_image *file);

/* "folder/NAME" with another ending in place of NAME's own. Owner frees. */
hu_status hu_scene_partner(const char *folder, const char *name, const char *ending, char **path);

/* Which halves of a data set are kept in memory: both where they fit into it, else a test half that
 * fits into the quarter that reading it would take. train -1: training cannot be kept. */
typedef struct hu_keeping {
    uint64_t memory; /* bytes that decoded images may take */
    bool keeps_train, keeps_test;
} hu_keeping;
hu_keeping hu_keeping_decide(uint64_t memory, int64_t train, int64_t test, uint64_t sample_bytes);

/* ---- scene crop ---- */

/* Windows of scenes that are made larger or smaller at random, with their label
 * maps. */

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
                             hu_image_scratch *room, uint8_t *pixels, hu_image *file);

/* labels [window height, window width]: the nearest of the map, never a mixture;
 * HU_UNLABELLED_BYTE where the scaled map ends. */
void hu_scene_take_labels(const hu_label_map *map, const hu_scene_crop *crop, uint8_t *labels);

/* ---- spatial ---- */

/* One sample of a spatial field of bytes [height, width, channels]: cropped,
 * mirrored, looked up. */

/* What a byte of each channel means, and what lies outside of what is stored. */
typedef struct hu_byte_table {
    hu_lookup lookup;
    float outside[HU_CHANNELS_MAX];
} hu_byte_table;

/* What the random words of one sample decide. */
typedef struct hu_change {
    int64_t shift_x, shift_y; /* source pixel = target pixel + shift, in -pad..pad */
    bool flip;
    bool upside, transposes;   /* first and last rows exchanged; then rows and columns, of a square.
                                  Without shift, margin and cut */
    bool reflect;              /* what is stored goes on as its mirror image, not as `outside` */
    int64_t cut_x, cut_y, cut; /* corner and side of the square that becomes 0 */
} hu_change;

/* Bytes of a sample, with its margins. */
const uint8_t *hu_spatial_sample(const hu_field *field, const void *rows, int64_t index);

/* The same in bytes, without the cut: what lies outside is black. */
void hu_spatial_pixels(const hu_field *field, const hu_change *change, const uint8_t *bytes,
                       uint8_t *pixels);

/* What becomes of the pixels [height, width, channels] that hu_spatial_pixels made. */
void hu_spatial_look_up(const hu_field *field, const hu_byte_table *table, const hu_change *change,
                        const uint8_t *pixels, float *sample);

/* sample [height, width, channels] from the bytes of one sample. */
void hu_spatial_fill(const hu_field *field, const hu_byte_table *table, const hu_change *change,
                     const uint8_t *bytes, float *sample);

/* ---- Boxes of one sample, moved as its picture is ---- */

/* sample [most, 5] from the boxes [count, 5] of a picture of height x width pixels that is shifted
 * and mirrored by `change`. A box whose centre is shifted out of the picture is lost, and so is one
 * without an area in float32; others are cut at the border. Lost boxes, and those after count, are
 * zeros of class HU_UNLABELLED: a box keeps its place in the list. */
void hu_boxes_fill(const float *boxes, int64_t count, int64_t most, int64_t height, int64_t width,
                   const hu_change *change, float *sample);

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
