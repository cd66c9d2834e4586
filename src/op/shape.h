/* op/shape.h - attributes of the views. */
#ifndef HU_OP_SHAPE_H
#define HU_OP_SHAPE_H
#include "op/op.h"

typedef struct hu_reshape_attrs {
    hu_shape shape; /* of the output sample; as many elements as the input */
} hu_reshape_attrs;

#endif
