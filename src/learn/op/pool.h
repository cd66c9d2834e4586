/* op/pool.h - attributes of max_pool, avg_pool and adaptive_avg_pool. */
#ifndef HU_OP_POOL_H
#define HU_OP_POOL_H
#include "op/op.h"

typedef struct hu_pool_attrs {
    int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
    int64_t more_h, more_w; /* padding below and right of the image beyond pad; may be negative */
    bool ceil;              /* a last window may reach beyond the padding, if it begins before it */
    bool counts_padding;    /* of averages: padded zeros take part in the number of taps */
} hu_pool_attrs;

/* Output place i of m reads floor(i H / m) .. ceil((i + 1) H / m) - 1 of H. */
typedef struct hu_adaptive_pool_attrs {
    int64_t out_h, out_w;
} hu_adaptive_pool_attrs;

#endif
