/* op/loss_boxes.h - attributes of ssd_loss. */
#ifndef HU_OP_LOSS_BOXES_H
#define HU_OP_LOSS_BOXES_H
#include "box/anchors.h"
#include "op/op.h"

/* ssd_loss. in[0] [anchors, classes + 4]: of each anchor the logits of the classes, of which 0 is
 * the background, then the offsets of the box beside it; in[1] [most, 5]: boxes (box/box.h) whose
 * class c is class c + 1 here. Units are the matched anchors (box/match.h), so that with the
 * matched anchors of a batch as normaliser the loss is that of Liu et al., 2.2: of matched anchors
 * cross entropy and smooth L1 of the offsets, of three mined ones for each (box/mine.h) the cross
 * entropy of the background. */
typedef struct hu_box_loss_attrs {
    hu_anchors anchors;
    bool takes_logs; /* log-probabilities in place of logits */
} hu_box_loss_attrs;

/* d^2 / 2 for |d| < 1, else |d| - 1/2 (Girshick, "Fast R-CNN", equation 3), and its slope. */
static inline double hu_smooth_l1(double d) {
    double size = d < 0.0 ? -d : d;
    return size < 1.0 ? d * d / 2 : size - 0.5;
}

static inline double hu_smooth_l1_slope(double d) {
    if (d > 1.0) return 1.0;
    return d < -1.0 ? -1.0 : d;
}

#endif
