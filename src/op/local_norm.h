/* op/local_norm.h - attributes of local_norm. */
#ifndef HU_OP_LOCAL_NORM_H
#define HU_OP_LOCAL_NORM_H
#include "op/op.h"

/* s_c = k + alpha / size sum over the size channels around c of x^2; y_c = x_c s_c^-beta. */
typedef struct hu_local_norm_attrs {
    int64_t size; /* channels of a window, an odd number */
    float alpha, beta, k;
} hu_local_norm_attrs;

#endif
