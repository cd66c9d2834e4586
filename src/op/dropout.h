/* op/dropout.h - attributes of dropout. */
#ifndef HU_OP_DROPOUT_H
#define HU_OP_DROPOUT_H
#include "op/op.h"

typedef struct hu_dropout_attrs {
    float probability; /* of dropping; kept elements are scaled by 1 / (1 - p) */
} hu_dropout_attrs;

#endif
