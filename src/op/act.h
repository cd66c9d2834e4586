/* op/act.h - attributes of the element-wise operations. */
#ifndef HU_OP_ACT_H
#define HU_OP_ACT_H
#include "op/op.h"

typedef struct hu_leaky_relu_attrs {
    float slope; /* finite, of negative numbers */
} hu_leaky_relu_attrs;

#endif
