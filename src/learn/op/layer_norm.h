/* op/layer_norm.h - attributes of layer_norm. */
#ifndef HU_OP_LAYER_NORM_H
#define HU_OP_LAYER_NORM_H
#include "op/op.h"

/* y = weight (x - mean) / sqrt(variance + epsilon) + bias over each row [C]. Parameters: weight
 * [C], 1, and bias [C], 0. */
typedef struct hu_layer_norm_attrs {
    float epsilon; /* 1e-5; BERT 1e-12, DeiT 1e-6 */
} hu_layer_norm_attrs;

/* ---- Attributes of l2_norm ---- */

/* y_c = weight_c x_c / n, n = sqrt(sum over the channels of x^2 + epsilon). Parameter: weight
 * [channels], which begins at scale. */
typedef struct hu_l2_norm_attrs {
    float scale, epsilon; /* 20 and 1e-10 (Liu et al., "ParseNet", 3.3) */
} hu_l2_norm_attrs;

/* ---- Attributes of local_norm ---- */

/* s_c = k + alpha / size sum over the size channels around c of x^2; y_c = x_c s_c^-beta. */
typedef struct hu_local_norm_attrs {
    int64_t size; /* channels of a window, an odd number */
    float alpha, beta, k;
} hu_local_norm_attrs;

#endif
