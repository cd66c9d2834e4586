/* op/loss_boxes.h - attributes of the losses beside anchors: ssd_loss and rpn_loss. */
#ifndef HU_OP_LOSS_BOXES_H
#define HU_OP_LOSS_BOXES_H
#include "box/anchors.h"
#include "op/op.h"

/* in[0] [anchors, classes + 4]: of each anchor the logits of the classes, of which 0 is the
 * background, then the offsets of the box beside it; in[1] [most, 5]: boxes (box/boxes.h).
 *
 * ssd_loss: class c of the boxes is class c + 1 here. Units are the matched anchors
 * (box/anchors.h), so that with the matched anchors of a batch as normaliser the loss is that of
 * Liu et al., 2.2: of matched anchors cross entropy and smooth L1 of the offsets, of three mined
 * ones for each (box/anchors.h) the cross entropy of the background.
 *
 * rpn_loss: two classes, background and thing. Of the anchors that match by the rule of proposals
 * at most half of `samples` take part, of those of the background as many as are left; who, random
 * words decide (op/noise.h, a word for each anchor): of those with a box, the ones of the largest
 * words stay out (equal ones: the first), of the others the ones of the smallest take part (equal
 * ones: the first). Both parts are divided by the number that takes part: cross entropy of all,
 * smooth L1 (beta 1/9) of the offsets, without scales, of those with a box. A unit is a picture.
 * Source: Ren et al., "Faster R-CNN", 3.1.2 and 3.1.3. */
typedef struct hu_box_loss_attrs {
    hu_anchors anchors;
    bool takes_logs; /* log-probabilities in place of logits */
    int64_t samples; /* of rpn_loss: anchors of a picture that take part; of ssd_loss: 0 */
} hu_box_loss_attrs;

#endif
