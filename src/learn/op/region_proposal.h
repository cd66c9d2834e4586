/* op/region_proposal.h - region proposals, and the pooling of what lies in them. */
#ifndef HU_OP_REGION_PROPOSAL_H
#define HU_OP_REGION_PROPOSAL_H
#include "media/anchors.h"
#include "op/op.h"

/* ---- Attributes of proposals ---- */

/* proposals. in[0] [anchors, 2 + 4]: scores of background and thing, then offsets without scales;
 * in[1] [most, 5]: boxes, which only training looks at; out [regions, 4]: regions of the picture in
 * pixels (media/anchors.h), rows that are left over 0. They are facts: nothing rounds them, and no
 * gradient goes through them.
 *
 * The `before` anchors of the largest thing - background (equal ones: the first) give boxes, which
 * end at the sides of the picture; those of a side below `least` go, and of boxes that overlap by
 * more than 0.7 all but the best; the `after` best stay. Outside of training the first `regions` of
 * them are the regions. In training the picture's boxes stand behind them, and lots are drawn: of
 * those that show a thing (media/anchors.h) the ones of the smallest random words, at most a
 * quarter of `regions`, then of the others until there are `regions`. Candidate i of the list takes
 * word i of after + most words of a picture (op/dropout.h). Source: Ren et al., "Faster
 * R-CNN", 3.3; Girshick, "Fast R-CNN", 2.3. */
typedef struct hu_proposal_attrs {
    hu_anchors anchors;
    hu_picture picture; /* that regions are in pixels of */
    int64_t before, after, regions;
    double least; /* pixels */
} hu_proposal_attrs;

/* ---- Attributes of roi_pool ---- */

/* in[0] a map [H, W, C], in[1] regions [R, 4]: x1 y1 x2 y2 in pixels of the picture; out [R,
 * height, width, C]: the largest number of each channel in each bin of each region. */
typedef struct hu_roi_pool_attrs {
    int64_t height, width; /* bins */
    float scale;           /* places of the map per pixel of the picture: 1/16 */
} hu_roi_pool_attrs;

#endif
