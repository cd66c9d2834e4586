/* op/cross_entropy.h - attributes of the losses of rows, and what all losses share. */
#ifndef HU_OP_CROSS_ENTROPY_H
#define HU_OP_CROSS_ENTROPY_H
#include "op/op.h"

/* All zero (or NULL): whole rows are logits. */
typedef struct hu_log_softmax_attrs {
    int64_t kept; /* the last so many numbers of a row are no logits: they stay as they are */
} hu_log_softmax_attrs;

#endif
