/* op/scale.h - attributes of scale. */
#ifndef HU_OP_SCALE_H
#define HU_OP_SCALE_H
#include "op/op.h"

typedef struct hu_scale_attrs {
    float factor; /* finite */
} hu_scale_attrs;

#endif
