/* op/norm.h - attributes of batch_norm and range_norm. */
#ifndef HU_OP_NORM_H
#define HU_OP_NORM_H
#include "op/op.h"

/* Input 1, where there is one: how many rows of a sample are there, op/row_count.h.
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
