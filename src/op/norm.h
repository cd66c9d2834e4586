/* op/norm.h - attributes of batch_norm. */
#ifndef HU_OP_NORM_H
#define HU_OP_NORM_H
#include "op/op.h"

/* Parameters: weight (gamma, 1), bias (beta, 0); buffers: running_mean (0), running_var (1),
 * without bias. */
typedef struct hu_batch_norm_attrs {
    float epsilon;  /* 1e-5 */
    float momentum; /* weight of the new value in the running statistics, 0.1 */
} hu_batch_norm_attrs;

#endif
