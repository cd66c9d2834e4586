/* op/layer_norm.h - attributes of layer_norm. */
#ifndef HU_OP_LAYER_NORM_H
#define HU_OP_LAYER_NORM_H
#include "op/op.h"

/* y = weight (x - mean) / sqrt(variance + epsilon) + bias over each row [C]. Parameters: weight
 * [C], 1, and bias [C], 0. */
typedef struct hu_layer_norm_attrs {
    float epsilon; /* 1e-5; BERT 1e-12, DeiT 1e-6 */
} hu_layer_norm_attrs;

#endif
