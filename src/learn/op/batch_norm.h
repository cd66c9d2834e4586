/* op/batch_norm.h - batch norm, and what the norms over channels share. */
#ifndef HU_OP_BATCH_NORM_H
#define HU_OP_BATCH_NORM_H
#include "op/op.h"

/* ---- normalise ---- */

/* What the norms share: y = (x - center) * scale + beta per channel, in vectors
 * that a norm makes of its statistics.
 */

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
 * y > 0 or NaN. What is not there becomes 0. scratch: hu_norm_scratch_bytes. */
void hu_norm_apply(const hu_op_call *call, hu_norm_vector *center, hu_norm_vector *scale,
                   uint8_t *bits);

/* Four wide vectors and a narrow one. */
size_t hu_norm_scratch_bytes(int64_t channels);

/* (1 - momentum) old + momentum new, one rounding. */
float hu_norm_blend(float old, double new, float momentum);

/* ---- Attributes of batch_norm and range_norm ---- */

/* Input 1, where there is one: how many rows of a sample are there, op/sequence.h.
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

#endif
