/* op/internal.h - what operations share: only for the files of this room. */
#ifndef HU_OP_INTERNAL_H
#define HU_OP_INTERNAL_H
#include "base/checked.h"
#include "base/rng.h"
#include "op/attributes.h"

/* ---- Valid rows of a sequence that is shorter than its room ---- */

/* Rows (first extent of input 0) of sample s of the call that are present, by what input `which`
 * says. Without such an input all of them. */
static inline int64_t hu_row_count(const hu_op_call *call, int which, int64_t s) {
    int64_t rows = call->info->in[0].extent[0];
    return which < call->info->n_in ? hu_rows_of_length(call->in[which][s], rows) : rows;
}

/* HU_ERR_SHAPE unless input `which`, where there is one, is a number of rows of input 0. */
hu_status hu_expect_row_count(const char *op, int which, int n_in, const hu_shape *in);

/* HU_ERR_SHAPE unless input `which`, where there is one, is one number of a sample, as [1] or as a
 * scalar. */
hu_status hu_expect_lengths(const char *op, int which, int n_in, const hu_shape *in);

/* ---- Axes of a sample's shape ---- */

/* HU_ERR_SHAPE unless a shape of so many extents has the axis; negative ones count from its end. op
 * and name: of the operation and the attribute, for messages. */
hu_status hu_expect_axis(const char *op, const char *name, int64_t axis, int rank);

/* The one axis of an attribute that may be left out: usual then, which may be negative, too.
 * HU_ERR_ARGUMENT for several. expect: before it is asked for. */
hu_status hu_expect_one_axis(const char *op, const hu_axes *axes, int64_t usual, int rank);
int hu_one_axis(const hu_axes *axes, int64_t usual, int rank);

/* Axes as bits, of which each may be named once. */
hu_status hu_expect_axes(const char *op, const hu_axes *axes, int rank);
unsigned hu_axes_bits(const hu_axes *axes, int rank);

/* ---- Arrays with steps ---- */

/* Numbers that lie in two arrays, each in steps of its own along every axis. */
typedef struct hu_strides {
    int rank;
    int64_t extent[HU_MAX_RANK], step[2][HU_MAX_RANK];
} hu_strides;

/* Steps of a shape whose last axis lies side by side. */
void hu_steps_of(const hu_shape *shape, int64_t step[HU_MAX_RANK]);

/* The same numbers in the same order with as few axes as can be, at least one. */
void hu_strides_join(hu_strides *strides);

/* Numbers of the last axis: count of them, from at[i] on in array i, step[i] apart. */
typedef struct hu_stride_run {
    int64_t count, at[2], step[2];
} hu_stride_run;
typedef void hu_stride_fn(void *context, const hu_stride_run *run);

/* All runs, in the order of the axes. */
void hu_strides_each(const hu_strides *strides, hu_stride_fn *each, void *context);

/* ---- Norms over channels: y = (x - center) * scale + beta, in vectors that a norm makes of its
 * statistics ---- */

/* Params of all norms: gamma, beta, then two running statistics. */
enum { HU_NORM_GAMMA, HU_NORM_BETA, HU_NORM_RUNNING_MEAN, HU_NORM_RUNNING_SCALE, HU_NORM_PARAMS };

/* Rows of the chunk as a matrix [pixels, C]: count x H x W. */
int64_t hu_norm_pixels(const hu_op_call *call);

/* Checks the attributes, and gives the one output the shape of the input [.., C]. */
hu_status hu_norm_shape(const char *op, float epsilon, float momentum, const hu_shape *in,
                        int *n_out, hu_shape *out);

/* The declarations with C elements each. */
void hu_norm_declare(const hu_param_decl decl[HU_NORM_PARAMS], const hu_shape *in,
                     hu_param_decl *list, int *count);

/* A vector [C] of the call, for one thread. */
typedef void hu_norm_vector(const hu_op_call *call, float *narrow);

/* x -> y = (x - center) * scale + beta, then relu where bits is given: [pixels, C] of them, 1 where
 * y > 0 or NaN. What is missing becomes 0. scratch: hu_norm_scratch_bytes. */
void hu_norm_apply(const hu_op_call *call, hu_norm_vector *center, hu_norm_vector *scale,
                   uint8_t *bits);

/* Four wide vectors and a narrow one. */
size_t hu_norm_scratch_bytes(int64_t channels);

/* (1 - momentum) old + momentum new, one rounding. */
float hu_norm_blend(float old, double new, float momentum);

/* ---- Noise: the random words of a node ---- */

/* Random words of a node: element i of sample s of the batch takes word s elements + i
 * of the node's key, so that chunks do not matter. In check runs it takes word (samples before)
 * elements + i of the node's name, or of the name and "test" outside of training. */

/* Where the numbers of a call come from. */
typedef struct hu_noise {
    const hu_op_call *call;
    uint64_t first; /* number of the call's first element */
    uint32_t hash;  /* of the formula */
} hu_noise;

/* elements: of a sample. */
static inline hu_noise hu_noise_of(const hu_op_call *call, int64_t elements) {
    hu_noise n = {call, (uint64_t)(call->before + call->first) * (uint64_t)elements, 0};
    if (!call->by_formula) return n;
    n.first += call->drawn * (uint64_t)elements;
    n.hash = hu_formula_hash(HU_FORMULA_HASH_START, call->info->name);
    if (!call->training) n.hash = hu_formula_hash(n.hash, "test");
    return n;
}

/* The word of element i of the call. */
uint32_t hu_noise_word(const hu_noise *noise, int64_t i);

/* ---- Losses: fields and functions of every loss record ---- */

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

/* ---- Losses of boxes: a row of class scores and box offsets, all in double ---- */

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

#endif
