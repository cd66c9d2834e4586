/* op/dropout.h - attributes of dropout and drop_path. */
#ifndef HU_OP_DROPOUT_H
#define HU_OP_DROPOUT_H
#include "op/op.h"

typedef struct hu_dropout_attrs {
    float probability; /* of dropping an element, or all of a sample's; what is kept is scaled by
                          1 / (1 - p) */
} hu_dropout_attrs;

#endif
