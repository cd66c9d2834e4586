/* op/reshape.h - views: shapes, transposition, and zeros. */
#ifndef HU_OP_RESHAPE_H
#define HU_OP_RESHAPE_H
#include "op/op.h"

/* ---- Attributes of the views ---- */

typedef struct hu_reshape_attrs {
    hu_shape shape; /* of the output sample; as many elements as the input */
} hu_reshape_attrs;

/* ---- Attributes of zeros and carried ---- */

typedef struct hu_zeros_attrs {
    int64_t numbers;
} hu_zeros_attrs;

#endif
