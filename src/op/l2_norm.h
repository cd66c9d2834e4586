/* op/l2_norm.h - attributes of l2_norm. */
#ifndef HU_OP_L2_NORM_H
#define HU_OP_L2_NORM_H
#include "op/op.h"

/* y_c = weight_c x_c / n, n = sqrt(sum over the channels of x^2 + epsilon). Parameter: weight
 * [channels], which begins at scale. */
typedef struct hu_l2_norm_attrs {
    float scale, epsilon; /* 20 and 1e-10 (Liu et al., "ParseNet", 3.3) */
} hu_l2_norm_attrs;

#endif
