/* op/sample.h - numbers of the normal law. */
#ifndef HU_OP_SAMPLE_H
#define HU_OP_SAMPLE_H
#include "op/op.h"

/* normal: no input -> out [numbers] of the standard normal law for every sample. */
typedef struct hu_normal_attrs {
    int64_t numbers;
} hu_normal_attrs;

#endif
