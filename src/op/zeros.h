/* op/zeros.h - attributes of zeros and carried. */
#ifndef HU_OP_ZEROS_H
#define HU_OP_ZEROS_H
#include "op/op.h"

typedef struct hu_zeros_attrs {
    int64_t numbers;
} hu_zeros_attrs;

#endif
