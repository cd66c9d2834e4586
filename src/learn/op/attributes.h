/* op/attributes.h - attributes of the operations, by family: what an op's texts and builders set.
 */
#ifndef HU_OP_ATTRIBUTES_H
#define HU_OP_ATTRIBUTES_H
#include <stdbool.h>
#include <stdint.h>

#include "media/anchors.h"
#include "op/op.h"

/* ---- Products ---- */

/* Weights are [out_channels, kernel_h, kernel_w, in_channels / groups]. Transposed, a layer
 * computes what a convolution from its output to its input gives back as the gradient of its input;
 * weights are those of that convolution, [in_channels, kernel_h, kernel_w, out_channels / groups].
 */
typedef struct hu_conv_attrs {
    int64_t out_channels;
    int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
    int64_t dilation_h, dilation_w; /* 1 = dense */
    int64_t groups;
    bool has_bias;
    hu_init weight_init, bias_init;
    int64_t more_h, more_w; /* padding below and right of the image beyond pad; may be negative */
    bool transposed;
    int64_t extra_h, extra_w; /* transposed: rows and columns that the stride leaves open, at the
                                 end of the output; less than the stride */
} hu_conv_attrs;

/* Rows [T, C] as an image of one column. Weights are [out_channels, kernel, in_channels / groups];
 * transposed: [in_channels, kernel, out_channels / groups]. */
typedef struct hu_conv1d_attrs {
    int64_t out_channels, kernel, stride, pad;
    int64_t more; /* padding after the last row beyond pad; may be negative */
    int64_t dilation, groups;
    bool has_bias;
    hu_init weight_init, bias_init;
    bool transposed;
    int64_t extra; /* transposed: rows that the stride leaves open, at the end; less than it */
} hu_conv1d_attrs;

/* Weights are [out, in]. */
typedef struct hu_linear_attrs {
    int64_t out_features; /* the input of any shape is read as one vector per sample */
    bool rows;       /* or as rows, vectors of the last extent, which all have the same weights:
                        [.., C] -> [.., out_features], what a 1x1 convolution computes */
    bool transposed; /* y = x w with w [in, out], so that a decoder can use the weights of its
                        encoder; the bias is then added at the end */
    bool has_bias;
    hu_init weight_init, bias_init;
} hu_linear_attrs;

/* The geometry of a transposed layer is that of the layer whose weights it uses. */
hu_product hu_product_conv2d(const hu_conv_attrs *attrs, const hu_shape *in);
hu_product hu_product_conv1d(const hu_conv1d_attrs *attrs, const hu_shape *in);
hu_product hu_product_linear(const hu_linear_attrs *attrs, const hu_shape *in);

/* What conv2d, conv1d and linear share: the record functions that let
 * the room product compute their products.
 */

/* ---- Embedding ---- */

typedef struct hu_embedding_attrs {
    int64_t words, width; /* rows of the table, and numbers of a row */
    float factor;         /* that rows are multiplied by */
    bool is_band;         /* ids from `first` on have the rows of the table, others +0: absent */
    int64_t first;
    bool has_padding; /* rows of the id `padding` have the gradient +0 */
    int64_t padding;
    hu_init weight_init;
} hu_embedding_attrs;

/* ---- Words in bands by frequency (adaptive softmax) ---- */

/* Words in bands by how frequent they are, each with tables of its own width
 * (Baevski and Auli 2019; Grave et al. 2017): what works on the rows of one band alone.
 *
 * band_linear: a layer without bias for the rows of in[0] [.., C] whose ids in in[1] [..] lie in
 * the band; the others are exact zeros and absent (product/gathered.h).
 *
 * band_law: scores of a head and of the bands after it -> log-probabilities of all
 * words [.., V], in evaluations; trainings leave it alone.
 */

enum { HU_BANDS_MOST = 14 }; /* after the head: as many inputs as hu_op.saves can name */

typedef struct hu_band_linear_attrs {
    hu_linear_attrs linear; /* rows without bias; first: read as those of a linear layer */
    int64_t first, last;    /* ids first .. last-1 */
    bool all_in_evaluation; /* where all words are asked for: every row takes part */
} hu_band_linear_attrs;

/* ---- Sampled softmax ---- */

/* A row is compared with its own class and with a few
 * others that are drawn for the whole batch (Jozefowicz et al. 2016; Bengio and Senecal 2003).
 *
 * log_uniform, of no input: [numbers] class numbers in ascending order, the same for all samples.
 * Number i is drawn from share (i + U_i) / numbers of the law of base/rng.h, duplicates
 * stay; U_i is word i of the node's key, in check runs (t(name, step x numbers + i) + 1) / 2.
 *
 * sampled_scores: rows [T, C], classes [T] and drawn ones [k] -> [T, 1 + k], the scores of each
 * row's own class and of the drawn ones, by a weight [classes, C] and a bias (product/gathered.h).
 *
 * sampled_cross_entropy: these scores, classes and drawn ones -> a loss, the cross entropy of the
 * first of 1 + k scores, each less the logarithm of how often its class is expected, k P(v). Drawn
 * classes that are a row's own take no part in it, nor rows whose class is ignored.
 */

/* Of all three; each reads what it needs. */
typedef struct hu_sampled_attrs {
    int64_t classes, numbers;
    bool ignores; /* targets that are `ignored` */
    float ignored;
    hu_init weight_init, bias_init;
} hu_sampled_attrs;

/* ---- Joining and splitting values ---- */

/* bias adds a vector along the last extent; its one parameter is called "bias". */
typedef struct hu_bias_attrs {
    hu_init bias_init;
} hu_bias_attrs;

/* add, sub, mul, div, minimum and maximum of one input and a constant, or a parameter of its own;
 * NULL: of two inputs, add of more. */
typedef struct hu_arithmetic_attrs {
    float value;    /* the second number; 0: none is given */
    hu_shape shape; /* of the parameter weight, the second value; no extents: there is none */
    hu_init weight_init;
} hu_arithmetic_attrs;

/* concat joins along the last extent; NULL: so, too. */
typedef struct hu_concat_attrs {
    bool rows;    /* along the first one */
    hu_axes axis; /* or along this one */
} hu_concat_attrs;

/* split gives parts of one extent, the last one: of these three one is told. */
typedef struct hu_split_attrs {
    int64_t first; /* two parts: the first `first` channels, and the rest */
    bool rows;     /* of the first extent: the first `first` rows, and the rest */
    hu_axes axis;  /* or of this one */
    int64_t parts; /* as many of one size */
    hu_axes sizes; /* each of its own */
} hu_split_attrs;

/* slice gives places start, start + step, ... before `end` of one axis, the last one. Places below
 * 0 count from the end of the axis, as does an end of 0. */
typedef struct hu_slice_attrs {
    hu_axes axis;
    int64_t start, end, step;
} hu_slice_attrs;

/* pad puts so many places of `value` before and after each axis; none: 0 of them. */
typedef struct hu_pad_attrs {
    hu_axes before, after; /* a number for each axis */
    float value;
} hu_pad_attrs;

/* transpose puts the axes in another order: axis i of the output is axis axes[i] of the input.
 * NULL or none: the last two change places. */
typedef struct hu_transpose_attrs {
    hu_axes axes;
} hu_transpose_attrs;

/* ---- Views and zeros ---- */

typedef struct hu_reshape_attrs {
    hu_shape shape; /* of the output sample; as many elements as the input, which work out one
                       extent of -1 */
} hu_reshape_attrs;

typedef struct hu_zeros_attrs {
    int64_t numbers;
} hu_zeros_attrs;

/* constant and ids give every sample the numbers of a buffer, which is called by the node's prefix
 * alone and comes with a network's weights; without any it has zeros. A constant is rounded like
 * every value; ids are read as whole numbers, and no format rounds them. */
typedef struct hu_constant_attrs {
    hu_shape shape;
} hu_constant_attrs;

/* ---- Rows as tokens ---- */

/* pick_rows has no attributes: [T, ..] and places [M] -> [M, ..], of which what is no
 * number of a row gives zeros.
 */

/* position adds a parameter of the shape of a sample, so that every place has numbers of its own;
 * the parameter is called by the node's prefix alone. */
typedef struct hu_position_attrs {
    hu_init init;
    bool for_batches; /* an extent of 1 stands in front of the parameter's others, as frameworks
                         have it that add it to whole batches */
    int64_t rows;     /* of the parameter, of which samples take the first ones; 0: theirs */
} hu_position_attrs;

/* rotary turns pairs of the numbers of each head of [T, heads d], by its row times base^(-2 i / d):
 * numbers i and i + d / 2, or with `pairs` 2 i and 2 i + 1. */
typedef struct hu_rotary_attrs {
    int64_t heads;
    float base; /* 10000 */
    bool pairs;
} hu_rotary_attrs;

/* class_token puts a row that is a parameter, [1, D], in front of the rows of every sample: [T, D]
 * -> [T + 1, D]; it is called by the node's prefix alone. */
typedef struct hu_class_token_attrs {
    hu_init init;
    bool for_batches; /* likewise: [1, 1, D] */
} hu_class_token_attrs;

/* pick gives one row: [T, ..] -> [..]. A second input holds lengths [1], how many rows of the
 * sample count; a length beyond T is T. Of no rows the result is zero. */
typedef struct hu_pick_attrs {
    bool last; /* of the rows that count; false: the first one */
} hu_pick_attrs;

/* ---- Sequences ---- */

/* length: in[0] a number of rows -> out[0] the same number, divided by stride and rounded up: what
 * a convolution of this stride that keeps the length otherwise makes of them. */
typedef struct hu_length_attrs {
    int64_t stride; /* at least 1 */
    bool leading;   /* in[0] is a list of numbers [M] instead: rows are those in front of the first
                       that is below 0, or no number */
} hu_length_attrs;

/* Row convolution (Amodei et al. 2016, "Deep Speech 2", 3.7): each row of in[0] [T, C] becomes a
 * weighted sum of itself and the rows after it, channel by channel: y_t,c = sum over k of w_k,c
 * x_(t+k),c. Beyond the last row of the sample lie zeros; in[1], where there is one, says how many
 * rows are valid, and the others become 0. Parameter: weight [context, C]. Sums in
 * double in the order of k, one rounding. */
typedef struct hu_row_conv_attrs {
    int64_t context; /* rows that are looked at, the row itself among them */
    hu_init weight_init;
} hu_row_conv_attrs;

/* ---- Element-wise operations ---- */

typedef struct hu_leaky_relu_attrs {
    float slope; /* finite, of negative numbers */
} hu_leaky_relu_attrs;

typedef struct hu_clipped_relu_attrs {
    float limit; /* finite, above 0; 20 in DeepSpeech (Hannun et al., 2014) */
} hu_clipped_relu_attrs;

/* GELU of Hendrycks and Gimpel, 2016; NULL: by erf. */
typedef struct hu_gelu_attrs {
    bool by_tanh; /* x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2, not x (1 + erf(x/sqrt 2)) / 2
                   */
} hu_gelu_attrs;

/* pow: y = x^exponent (hu_pow of base/elementary.h). */
typedef struct hu_pow_attrs {
    double exponent; /* finite, not 0 */
} hu_pow_attrs;

typedef struct hu_clip_attrs {
    float low, high; /* low < high; -infinity and infinity: open on that side, but not on both */
} hu_clip_attrs;

typedef struct hu_scale_attrs {
    float factor; /* finite */
} hu_scale_attrs;

/* ---- Norms over the batch ---- */

/* Input 1, where there is one: how many rows of a sample are valid.
 *
 * Parameters: weight (gamma, 1), bias (beta, 0); buffers: running_mean (0), running_var (1),
 * without bias. */
typedef struct hu_batch_norm_attrs {
    float epsilon;  /* 1e-5 */
    float momentum; /* weight of the new value in the running statistics, 0.1 */
} hu_batch_norm_attrs;

/* Parameters: weight (gamma, uniform on [0, 1)), bias (beta, 0); buffers: running_mean (0),
 * running_scale (1), the mean of 1 / (kappa R + epsilon). */
typedef struct hu_range_norm_attrs {
    float epsilon;  /* 1e-5 */
    float momentum; /* weight of the new value in the running statistics, 0.9 */
} hu_range_norm_attrs;

/* Groups of values whose ranges are averaged; n: values of a channel in a pass, at least 1. The
 * first value of a group is that of number hu_range_norm_begin(n, group). */
enum { HU_RANGE_NORM_GROUPS = 16 };
int64_t hu_range_norm_groups(int64_t n);
int64_t hu_range_norm_begin(int64_t n, int64_t group);

/* 0.5 * 0.35 * (1 + sqrt(pi ln 4)) / sqrt(2 ln m), m = n / groups values in a group, at least 2. */
double hu_range_norm_kappa(int64_t n);

/* ---- Norms over rows and channels ---- */

/* y = weight (x - mean) / sqrt(variance + epsilon) + bias over each row [C]. Parameters: weight
 * [C], 1, and bias [C], 0. */
typedef struct hu_layer_norm_attrs {
    float epsilon; /* 1e-5; BERT 1e-12, DeiT 1e-6 */
} hu_layer_norm_attrs;

/* y = weight (x - mean) / sqrt(variance + epsilon) + bias of each sample [.., C] by itself, over
 * its places and the channels of one of `groups` equal groups (Wu and He, 2018); of instance_norm
 * over the places of each channel (Ulyanov et al., 2016). Parameters, if affine: weight [C], 1, and
 * bias [C], 0. */
typedef struct hu_group_norm_attrs {
    int64_t groups;
    float epsilon; /* 1e-5 */
    bool affine;
} hu_group_norm_attrs;

typedef struct hu_instance_norm_attrs {
    float epsilon; /* 1e-5 */
    bool affine;
} hu_instance_norm_attrs;

/* y = weight x / sqrt(mean of x^2 + epsilon) over each row [C] (Zhang and Sennrich, 2019).
 * Parameter: weight [C], 1. */
typedef struct hu_rms_norm_attrs {
    float epsilon; /* 1e-6 */
} hu_rms_norm_attrs;

/* y_c = weight_c x_c / n, n = sqrt(sum over the channels of x^2 + epsilon). Parameter: weight
 * [channels], which begins at scale. */
typedef struct hu_l2_norm_attrs {
    float scale, epsilon; /* 20 and 1e-10 (Liu et al., "ParseNet", 3.3) */
} hu_l2_norm_attrs;

/* s_c = k + alpha / size sum over the size channels around c of x^2; y_c = x_c s_c^-beta. */
typedef struct hu_local_norm_attrs {
    int64_t size; /* channels of a window, an odd number */
    float alpha, beta, k;
} hu_local_norm_attrs;

/* ---- Pooling ---- */

typedef struct hu_pool_attrs {
    int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
    int64_t more_h, more_w; /* padding below and right of the image beyond pad; may be negative */
    bool ceil;              /* a last window may reach beyond the padding, if it begins before it */
    bool counts_padding;    /* of averages: padded zeros take part in the number of taps */
} hu_pool_attrs;

/* Of rows [T, C]. */
typedef struct hu_pool1d_attrs {
    int64_t kernel, stride, pad;
    int64_t more; /* padding after the last row beyond pad; may be negative */
    bool ceil, counts_padding;
} hu_pool1d_attrs;

/* Output place i of m reads floor(i H / m) .. ceil((i + 1) H / m) - 1 of H. */
typedef struct hu_adaptive_pool_attrs {
    int64_t out_h, out_w;
} hu_adaptive_pool_attrs;

/* ---- Reductions over axes ---- */

/* reduce_mean, reduce_sum and reduce_max: one number for all that the axes hold. Sums in double in
 * the order of the elements; a mean is divided there, too; one rounding. The largest is the first
 * of its like, a NaN before all others, and has the gradient. */
typedef struct hu_reduce_attrs {
    hu_axes axes; /* none: all of them */
    bool keeps;   /* the axes stay, with an extent of 1 */
} hu_reduce_attrs;

/* ---- Larger and smaller images ---- */

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

/* ---- Attention ---- */

/* Rows (queries, T of them) see keys (S of them): all, or the first ones where an input after the
 * others, lengths [1], says how many there are. One more, also [1], may say how many rows there
 * are: those after see nothing. Of attention_weights and attention_context. */
typedef struct hu_attention_mask_attrs {
    bool is_causal;   /* row t sees no key after key t */
    bool lengths_too; /* lengths are those of the rows as well: rows after them see nothing */
} hu_attention_mask_attrs;

/* Of attention_scores. */
typedef struct hu_scores_attrs {
    int64_t heads; /* what the numbers of rows and keys are cut into */
    float factor;  /* what rows are multiplied with first: a power of two, which rounds nothing */
    hu_attention_mask_attrs sight;
} hu_scores_attrs;

/* ---- Noise ---- */

typedef struct hu_dropout_attrs {
    float probability; /* of dropping an element, or all of a sample's; what is kept is scaled by
                          1 / (1 - p) */
} hu_dropout_attrs;

/* normal: no input -> out [numbers] of the standard normal law for every sample. */
typedef struct hu_normal_attrs {
    int64_t numbers;
} hu_normal_attrs;

/* ---- Softmax ---- */

/* Shares of what lies along one axis, the last one. */
typedef struct hu_softmax_attrs {
    hu_axes axis;
} hu_softmax_attrs;

/* ---- Log-softmax ---- */

/* All zero (or NULL): whole rows are logits. */
typedef struct hu_log_softmax_attrs {
    int64_t kept; /* the last so many numbers of a row are no logits: they stay as they are */
} hu_log_softmax_attrs;

/* ---- Losses ---- */

/* Every loss gives one number per sample, computed in double in the order of the elements and
 * rounded once. It is the sum over the sample's units: the counted rows of a row loss, or the one
 * unit that the sample is. dout[0] is the gradient that one unit starts with: loss scale x weight
 * of the loss / units of the whole batch. Then the mean over all units is what is minimised.
 */

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
 * band. */

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

/* ---- CTC loss ---- */

/* Connectionist temporal classification (Graves et al. 2006): rows of class scores
 * with a shorter sequence of labels, of which nobody says which row each belongs to.
 *
 * in[0] [T, V] logits or log-probabilities, class 0 the blank; in[1] [L] class numbers 1..V-1, then
 * unlabelled ones (below 0); in[2] the rows that count, 0..T. The loss of a sample is -log of the
 * probability of all paths that spell the labels, the blanks dropped and repeats joined: in double,
 * by the recurrences over rows in ascending (alpha) and descending order (beta). Rows that do not
 * count have gradient 0. A sample with fewer rows than labels and equal neighbours among them has
 * no path: loss and gradient are 0, and the metric of the loss counts it (torch's zero_infinity).
 */

typedef struct hu_ctc_attrs {
    bool takes_logs; /* in[0] holds log-probabilities */
} hu_ctc_attrs;

/* ---- Losses of boxes ---- */

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
 * words decide (op/dropout.c, a word for each anchor): of those with a box, the ones of the largest
 * words stay out (equal ones: the first), of the others the ones of the smallest take part (equal
 * ones: the first). Both parts are divided by the number that takes part: cross entropy of all,
 * smooth L1 (beta 1/9) of the offsets, without scales, of those with a box. A unit is a picture.
 * Source: Ren et al., "Faster R-CNN", 3.1.2 and 3.1.3. */
typedef struct hu_box_loss_attrs {
    hu_anchors anchors;
    bool takes_logs; /* log-probabilities in place of logits */
    int64_t samples; /* of rpn_loss: anchors of a picture that take part; of ssd_loss: 0 */
} hu_box_loss_attrs;

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

/* ---- Region proposals and their pooling ---- */

/* proposals. in[0] [anchors, 2 + 4]: scores of background and thing, then offsets without scales;
 * in[1] [most, 5]: boxes, which only training looks at; out [regions, 4]: regions of the picture in
 * pixels (media/anchors.h), rows that are left over 0. They are facts: nothing rounds them, and no
 * gradient goes through them.
 *
 * The `before` anchors of the largest thing - background (equal ones: the first) give boxes, which
 * end at the sides of the picture; those of a side below `least` go, and of boxes that overlap by
 * more than 0.7 all but the best; the `after` best stay. Outside of training the first `regions` of
 * them are the regions. In training the picture's boxes stand after them, and lots are drawn: of
 * those that show a thing (media/anchors.h) the ones of the smallest random words, at most a
 * quarter of `regions`, then of the others until there are `regions`. Candidate i of the list takes
 * word i of after + most words of a picture (op/dropout.c). Source: Ren et al., "Faster
 * R-CNN", 3.3; Girshick, "Fast R-CNN", 2.3. */
typedef struct hu_proposal_attrs {
    hu_anchors anchors;
    hu_picture picture; /* that regions are in pixels of */
    int64_t before, after, regions;
    double least; /* pixels */
} hu_proposal_attrs;

/* in[0] a map [H, W, C], in[1] regions [R, 4]: x1 y1 x2 y2 in pixels of the picture; out [R,
 * height, width, C]: the largest number of each channel in each bin of each region. */
typedef struct hu_roi_pool_attrs {
    int64_t height, width; /* bins */
    float scale;           /* places of the map per pixel of the picture: 1/16 */
} hu_roi_pool_attrs;

#endif
