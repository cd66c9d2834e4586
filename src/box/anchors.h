/* box/anchors.h - the boxes beside which a network looks: the same shapes at each place of a few
 * maps. */
#ifndef HU_BOX_ANCHORS_H
#define HU_BOX_ANCHORS_H
#include <halfulp/status.h>

#include "box/box.h"

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

#endif
