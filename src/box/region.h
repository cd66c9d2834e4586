/* box/region.h - regions of a picture that a network proposes: rows of four corners in pixels, as
 * roi_pool reads them. A row without an area is no region. */
#ifndef HU_BOX_REGION_H
#define HU_BOX_REGION_H
#include "box/match.h"

enum { HU_REGION_NUMBERS = 4 };

/* A region as shares of the picture; and a box as the nearest float32 pixels. */
hu_box hu_region_box(const float *region, hu_picture picture);
void hu_region_write(const hu_box *box, hu_picture picture, float *region);

/* Whether a row is a region. */
bool hu_region_is_there(const float *region);

/* The row of the box that the region overlaps most (intersection over union; equal ones,
 * HU_OVERLAP_EQUAL: the first), if that is at least 0.5: the region shows a thing. Else
 * HU_UNMATCHED. Source: Ren et al., "Faster R-CNN" (Girshick, "Fast R-CNN", 2.3).
 * Proof: tests/unit/box_region_test.c. */
int64_t hu_region_match(const float *region, hu_picture picture, const hu_truths *truths);

#endif
