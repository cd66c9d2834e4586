/* op/detection_loss.h - losses of boxes: class scores, and offsets beside an anchor or a region. */
#ifndef HU_OP_DETECTION_LOSS_H
#define HU_OP_DETECTION_LOSS_H
#include "media/anchors.h"
#include "media/boxes.h"
#include "op/op.h"

/* ---- box row ---- */

/* What losses of boxes have in common: a row of class scores, and the offsets of a
 * box beside an anchor or a region. All in double. */

/* d^2 / 2 beta for |d| < beta, else |d| - beta / 2 (Girshick, "Fast R-CNN", equation 3), and its
 * slope. */
static inline double hu_smooth_l1(double d, double beta) {
    double size = (d < 0.0 ? -d : d) / beta;
    return beta * (size < 1.0 ? size * size / 2 : size - 0.5);
}

static inline double hu_smooth_l1_slope(double d, double beta) {
    if (d > beta) return 1.0;
    return d < -beta ? -1.0 : d / beta;
}

/* HU_ERR_SHAPE unless a target is boxes [most, 5] of at most HU_TRUTHS_MAX; op: for the message. */
hu_status hu_expect_boxes(const char *op, const hu_shape *boxes);

/* ---- Attributes of the losses beside anchors: ssd_loss and rpn_loss ---- */

/* in[0] [anchors, classes + 4]: of each anchor the logits of the classes, of which 0 is the
 * background, then the offsets of the box beside it; in[1] [most, 5]: boxes (media/boxes.h).
 *
 * ssd_loss: class c of the boxes is class c + 1 here. Units are the matched anchors
 * (media/anchors.h), so that with the matched anchors of a batch as normaliser the loss is that of
 * Liu et al., 2.2: of matched anchors cross entropy and smooth L1 of the offsets, of three mined
 * ones for each (media/anchors.h) the cross entropy of the background.
 *
 * rpn_loss: two classes, background and thing. Of the anchors that match by the rule of proposals
 * at most half of `samples` take part, of those of the background as many as are left; who, random
 * words decide (op/dropout.h, a word for each anchor): of those with a box, the ones of the largest
 * words stay out (equal ones: the first), of the others the ones of the smallest take part (equal
 * ones: the first). Both parts are divided by the number that takes part: cross entropy of all,
 * smooth L1 (beta 1/9) of the offsets, without scales, of those with a box. A unit is a picture.
 * Source: Ren et al., "Faster R-CNN", 3.1.2 and 3.1.3. */
typedef struct hu_box_loss_attrs {
    hu_anchors anchors;
    bool takes_logs; /* log-probabilities in place of logits */
    int64_t samples; /* of rpn_loss: anchors of a picture that take part; of ssd_loss: 0 */
} hu_box_loss_attrs;

/* ---- Attributes of roi_loss ---- */

/* roi_loss. in[0] [R, 5 classes]: of each region the logits of the classes, of which 0 is the
 * background, then four offsets for each class; in[1] [most, 5]: boxes (media/boxes.h) whose class
 * c is class c + 1 here; in[2] [R, 4]: the regions (media/anchors.h), which are constants. A region
 * shows the box that it overlaps most, if by at least 0.5, else the background. The loss of a
 * picture is divided by its regions: cross entropy of all, smooth L1 (beta 1) of the offsets of the
 * region's class where it shows a box, beside the region and in the scales of HU_OFFSET_SSD. Rows
 * without an area take no part; a picture without regions has the loss 0. Source: Girshick, "Fast
 * R-CNN", 2.3.
 */
typedef struct hu_region_loss_attrs {
    hu_picture picture; /* that regions are in pixels of */
} hu_region_loss_attrs;

#endif
