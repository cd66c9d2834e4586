/* op/roi_pool.h - attributes of roi_pool. */
#ifndef HU_OP_ROI_POOL_H
#define HU_OP_ROI_POOL_H
#include "op/op.h"

/* in[0] a map [H, W, C], in[1] regions [R, 4]: x1 y1 x2 y2 in pixels of the picture; out [R,
 * height, width, C]: the largest number of each channel in each bin of each region. */
typedef struct hu_roi_pool_attrs {
    int64_t height, width; /* bins */
    float scale;           /* places of the map per pixel of the picture: 1/16 */
} hu_roi_pool_attrs;

#endif
