/* op/box_row.h - what losses of boxes have in common: a row of class scores, and the offsets of a
 * box beside an anchor or a region. All in double. */
#ifndef HU_OP_BOX_ROW_H
#define HU_OP_BOX_ROW_H
#include "box/boxes.h"
#include "op/op.h"

/* One row that takes part, and what it should say. */
typedef struct hu_box_row {
    int64_t classes, class_number;
    const float *scores;       /* [classes] logits */
    bool takes_logs;           /* they are log-probabilities */
    const float *offsets;      /* [4]; NULL: the row is to find no box */
    double wanted[HU_OFFSETS]; /* what they should be */
    double beta;               /* where smooth L1 becomes linear */
} hu_box_row;

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

/* Makes a row find a box [5] beside an anchor or a region. */
void hu_box_row_want(hu_box_row *row, const hu_centred *beside, const float *box,
                     hu_offset_scale scale);

/* Cross entropy of the class, and smooth L1 of the offsets. */
double hu_box_row_class_loss(const hu_box_row *row);
double hu_box_row_loss(const hu_box_row *row);

/* dy times the slopes: dscores [classes], doffsets [4] (left alone where there are no offsets). */
void hu_box_row_gradient(const hu_box_row *row, double dy, float *dscores, float *doffsets);

/* HU_ERR_SHAPE unless a target is boxes [most, 5] of at most HU_TRUTHS_MAX; op: for the message. */
hu_status hu_expect_boxes(const char *op, const hu_shape *boxes);

/* Whether all boxes of a picture [most, 5] can be learned; and of count pictures, as
 * hu_op.check_target counts. */
bool hu_boxes_are_sound(const float *rows, int64_t most, int64_t classes);
void hu_boxes_count(const hu_shape *boxes, int64_t classes, int64_t count, const float *target,
                    hu_round_counts *counts);

#endif
