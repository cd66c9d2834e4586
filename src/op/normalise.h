/* op/normalise.h - what the norms share: y = (x - center) * scale + beta per channel, in vectors
 * that a norm makes of its statistics.
 */
#ifndef HU_OP_NORMALISE_H
#define HU_OP_NORMALISE_H
#include "op/op.h"

/* Params of all norms: gamma, beta, then two running statistics. */
enum { HU_NORM_GAMMA, HU_NORM_BETA, HU_NORM_RUNNING_MEAN, HU_NORM_RUNNING_SCALE, HU_NORM_PARAMS };

/* Rows of the chunk as a matrix [pixels, C]: count x H x W. */
int64_t hu_norm_pixels(const hu_op_call *call);

/* Pixels that lie behind each other: those of the whole chunk, or of a norm whose input 1 says how
 * many rows of a sample are there, those of one sample. */
typedef struct hu_norm_run {
    int64_t first, there, all; /* in pixels of the chunk; there: of all that are */
} hu_norm_run;
int64_t hu_norm_runs(const hu_op_call *call);
hu_norm_run hu_norm_run_at(const hu_op_call *call, int64_t i);

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

#endif
