/* op/pool.h - attributes of max_pool and avg_pool. */
#ifndef HU_OP_POOL_H
#define HU_OP_POOL_H
#include "op/op.h"

/* Padded zeros are not counted in averages. */
typedef struct hu_pool_attrs {
    int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
} hu_pool_attrs;

#endif
