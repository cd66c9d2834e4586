/* op/resize.h - operations that make images larger or smaller. */
#ifndef HU_OP_RESIZE_H
#define HU_OP_RESIZE_H
#include "op/op.h"

/* nearest and pixel_shuffle: the image becomes factor_h times as high and factor_w times as wide.
 */
typedef struct hu_enlarge_attrs {
    int64_t factor_h, factor_w; /* at least 1 */
} hu_enlarge_attrs;

typedef struct hu_bilinear_attrs {
    int64_t out_h, out_w; /* at least 1 */
    bool aligns; /* the centres of the corner pixels fall on each other; else the corners of
                    the images do (torch: align_corners) */
} hu_bilinear_attrs;

#endif
