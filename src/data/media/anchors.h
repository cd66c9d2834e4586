/* media/anchors.h - anchors, their match with true boxes, hard negatives, regions. */
#ifndef HU_BOX_ANCHORS_H
#define HU_BOX_ANCHORS_H
#include <stdint.h>

#include <halfulp/status.h>

#include "media/boxes.h"

enum { HU_ANCHOR_MAPS_MAX = 6, HU_ANCHOR_SHAPES_MAX = 9, HU_ANCHOR_BOXES_MAX = 200 };

/* One map: height x width places, each with the same shapes around its middle. */
typedef struct hu_anchor_map {
    int64_t height, width;
    double step_y, step_x; /* from place to place; the first middle is half a step from the side */
    int64_t shapes;
    double h[HU_ANCHOR_SHAPES_MAX], w[HU_ANCHOR_SHAPES_MAX];
} hu_anchor_map;

/* Anchors in the order map, row, column, shape. All zero: there are none. */
typedef struct hu_anchors {
    int64_t maps;
    bool is_clipped; /* middle and sides end at 0 and 1 (Liu et al.'s code) */
    int64_t most;    /* boxes that are said of a picture, of all classes; 0: there is no limit */
    hu_anchor_map map[HU_ANCHOR_MAPS_MAX];
} hu_anchors;

/* Extents of a picture, in pixels. */
typedef struct hu_picture {
    int64_t height, width;
} hu_picture;

/* A map of SSD: middles every `step` pixels; shapes (size, size), (s', s') with s' = sqrt(size
 * next), then for each ratio r wide and high ones of sides size sqrt(r) and size / sqrt(r). Source:
 * Liu et al., "SSD: Single Shot MultiBox Detector", 2.2. */
typedef struct hu_ssd_map {
    double step, size, next;
    int ratios;
    double ratio[2];
} hu_ssd_map;
hu_anchor_map hu_anchor_map_ssd(const hu_ssd_map *form, hu_picture picture, int64_t height,
                                int64_t width);

/* A map of Faster-RCNN: shapes of area size^2 whose height over width is the ratio, for each ratio
 * all sizes. sizes x ratios is at most HU_ANCHOR_SHAPES_MAX. Source: Ren et al., "Faster R-CNN". */
typedef struct hu_proposal_map {
    double step;
    int sizes, ratios;
    double size[4], ratio[4];
} hu_proposal_map;
hu_anchor_map hu_anchor_map_proposals(const hu_proposal_map *form, hu_picture picture,
                                      int64_t height, int64_t width);

/* Number of anchors; the anchor of an index below it. */
int64_t hu_anchors_count(const hu_anchors *anchors);
hu_centred hu_anchor_at(const hu_anchors *anchors, int64_t index);

/* HU_ERR_SHAPE where there are no anchors, a map has no place, no step or no shape with sides
 * above 0, or the limit of boxes is none of 0..HU_ANCHOR_BOXES_MAX. */
hu_status hu_anchors_check(const hu_anchors *anchors);

/* ---- Which box each anchor is to find, and which anchors are to find none ---- */

/* Most boxes of a picture, and what an anchor that has none is. */
enum { HU_TRUTHS_MAX = 512, HU_UNMATCHED = -1, HU_MINED = -2 };

/* Overlaps that are no further apart count as equal. */
#define HU_OVERLAP_EQUAL 1e-5

/* SSD's rule. Each box takes the anchor that it overlaps most (equal ones: the first), a later box
 * also from an earlier one; every other anchor takes the box that it overlaps most (the first) if
 * their overlap (intersection over union) is at least 0.5.
 *
 *   rows   [most, 5], most at most HU_TRUTHS_MAX; rows of a class below 0 are no boxes
 *   match  [anchors] number of the row, or HU_UNMATCHED; NULL: only counted
 *
 * Returns the number of matched anchors. Source: Liu et al., 2.2 "Matching strategy". Proof:
 * tests/unit/box_match_test.c. */
int64_t hu_match_ssd(const hu_anchors *anchors, const float *rows, int64_t most, int16_t *match);

/* The rule of Faster-RCNN's proposals: an anchor takes the box that it overlaps most where that is
 * at least 0.7, or where no anchor overlaps that box more; below 0.3 it is HU_UNMATCHED,
 * in between HU_IGNORED. Returns the number of matched anchors. Source: Ren et al., 3.1.2. */
enum { HU_IGNORED = -3 };
int64_t hu_match_proposals(const hu_anchors *anchors, const float *rows, int64_t most,
                           int16_t *match);

/* The boxes of a picture, in the order of their rows, which may have others between them. */
typedef struct hu_truths {
    int64_t count;
    hu_box box[HU_TRUTHS_MAX];
    int16_t row[HU_TRUTHS_MAX];
} hu_truths;

/* Those of rows [most, 5] as above. */
void hu_truths_read(const float *rows, int64_t most, hu_truths *truths);

/* The row whose box a box overlaps most, the first of equal ones, and that overlap: the largest.
 * HU_UNMATCHED and 0 where it overlaps none. */
int64_t hu_match_box(const hu_truths *truths, const hu_box *box, double *overlap);

/* ---- mine ---- */

/* Hard negative mining: the anchors without a box that a network takes for one. */

/* Anchors without a box for each one that has one (Liu et al., 2.2 "Hard negative mining"). */
enum { HU_MINED_PER_MATCH = 3 };

/* A key that sorts first what has the larger loss, then what has the smaller index. loss >= 0 or
 * NaN, which comes before all numbers. */
uint64_t hu_hard_negative_key(float loss, uint32_t index);

/* Of the keys [count], which it reorders, the anchors of the `wanted` smallest become HU_MINED in
 * match. They are the same whatever the order of the keys. */
void hu_hard_negatives(uint64_t *keys, int64_t count, int64_t wanted, int16_t *match);

/* A key that sorts first what has the smaller random word, then what has the smaller index: lots
 * that are drawn. hu_first_keys leaves the `wanted` smallest of keys [count] at its end, the very
 * smallest last; returns how many there are. */
uint64_t hu_lot_key(uint32_t word, uint32_t index);
int64_t hu_first_keys(uint64_t *keys, int64_t count, int64_t wanted);

/* ---- region ---- */

/* Regions of a picture that a network proposes: rows of four corners in pixels, as
 * roi_pool reads them. A row without an area is no region. */

enum { HU_REGION_NUMBERS = 4 };

/* A region as shares of the picture; and a box as the nearest float32 pixels. */
hu_box hu_roi_box(const float *region, hu_picture picture);
void hu_roi_write(const hu_box *box, hu_picture picture, float *region);

/* Whether a row is a region. */
bool hu_roi_is_valid(const float *region);

/* The row of the box that the region overlaps most (intersection over union; equal ones,
 * HU_OVERLAP_EQUAL: the first), if that is at least 0.5: the region shows a thing. Else
 * HU_UNMATCHED. Source: Ren et al., "Faster R-CNN" (Girshick, "Fast R-CNN", 2.3).
 * Proof: tests/unit/box_region_test.c. */
int64_t hu_roi_match(const float *region, hu_picture picture, const hu_truths *truths);

#endif
