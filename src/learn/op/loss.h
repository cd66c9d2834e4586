/* op/loss.h - attributes of the losses, and what all losses share.
 *
 * Every loss gives one number per sample, computed in double in the order of the elements and
 * rounded once. It is the sum over the sample's units: the counted rows of a row loss, or the one
 * unit that the sample is. dout[0] is the gradient that one unit starts with: loss scale x weight
 * of the loss / units of the whole batch. Then the mean over all units is what is minimised.
 */
#ifndef HU_OP_LOSS_H
#define HU_OP_LOSS_H
#include <string.h>

#include "op/op.h"

/* nll and softmax_cross_entropy. in[0] [.., classes]: log-probabilities or logits, one row for each
 * element of in[1] [..]: the class of the row, as float32. A row whose target is the ignored value
 * takes no part: no loss, gradient 0, not counted. In training a share of each row's loss is the
 * mean over all classes, (1 - s) (-log p_y) + s (-1/V sum over v of log p_v): label smoothing
 * (Szegedy et al. 2016, section 7). Evaluations count the class alone. All zero (or NULL): no
 * target is ignored, none smoothed. */
typedef struct hu_row_loss_attrs {
    bool ignores;
    float ignored;
    float smoothing; /* 0..1 */
} hu_row_loss_attrs;

/* adaptive_cross_entropy: softmax_cross_entropy of words in bands (Grave et al. 2017), from logits
 * in[0] [.., c + n] of the first c words and of n bands, targets in[1] [..] and logits in[2..n+1]
 * [.., band] of the words of each band in turn. -log p(v) is that of the head's own words, and of
 * others -log p(band) - log p(v in band): no row reads a band in which its class is not. Attributes
 * as above, without smoothing. Its metric counts rows whose class is the likeliest of the likeliest
 * band.
 *
 * HU_ERR_SHAPE unless the bands fit the head; and the number of all words. */
hu_status hu_expect_bands(const char *op, const hu_shape *head, int n, const hu_shape *bands);
int64_t hu_band_words(const hu_shape *head, int n, const hu_shape *bands);

/* mse, l1, bce and kl_normal. in[0] and in[1] have one shape. All zero (or NULL): the loss of a
 * sample is the mean over its elements. */
typedef struct hu_element_loss_attrs {
    bool sums; /* the sum over them instead */
} hu_element_loss_attrs;

/* bce_toward: bce of in[0] and one target in 0..1 for all elements, the mean over a sample. */
typedef struct hu_toward_attrs {
    float target;
} hu_toward_attrs;

/* What bce and kl_normal are of one element: of a logit x and a share t, in the form that neither
 * overflows nor cancels; of a mean x and a log-variance v. */
double hu_cross_entropy(double x, double t);
double hu_divergence(double x, double v);

/* The record functions that keep the sums of HU_LOSS_STATS. */
size_t hu_loss_stats_count(const hu_node_info *info);
size_t hu_loss_partial_count(const hu_node_info *info, hu_pass pass);
void hu_loss_finish(const hu_op_call *call, hu_pass pass);

/* The fields of a record that all losses have. They save both inputs, unless said otherwise. */
#define HU_LOSS_RECORD HU_LOSS_RECORD_OF(2)

/* The same with so many inputs. */
#define HU_LOSS_RECORD_OF(inputs) HU_LOSS_RECORD_FROM(inputs, inputs)
#define HU_LOSS_RECORD_FROM(least, most)                                                           \
    .min_in = (least), .max_in = (most), .reduce_after_forward = true, .is_loss = true,            \
    .stats_count = hu_loss_stats_count, .partial_count = hu_loss_partial_count,                    \
    .finish = hu_loss_finish

#endif
