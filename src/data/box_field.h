/* data/box_field.h - boxes of one sample, moved as its picture is. */
#ifndef HU_DATA_BOX_FIELD_H
#define HU_DATA_BOX_FIELD_H
#include "box/box.h"
#include "data/spatial.h"

/* sample [most, 5] from the boxes [count, 5] of a picture of height x width pixels that is shifted
 * and mirrored by `change`. A box whose centre is shifted out of the picture is lost, and so is one
 * without an area in float32; others are cut at the border. Lost boxes, and those behind count, are
 * zeros of class HU_UNLABELLED: a box keeps its place in the list. */
void hu_boxes_fill(const float *boxes, int64_t count, int64_t most, int64_t height, int64_t width,
                   const hu_change *change, float *sample);

#endif
