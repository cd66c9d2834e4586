/* op/length.h - attributes of length: how many rows of a sequence are left behind a layer. */
#ifndef HU_OP_LENGTH_H
#define HU_OP_LENGTH_H
#include "op/op.h"

/* length: in[0] a number of rows -> out[0] the same number, divided by stride and rounded up: what
 * a convolution of this stride that keeps the length otherwise makes of them. */
typedef struct hu_length_attrs {
    int64_t stride; /* at least 1 */
    bool leading;   /* in[0] is a list of numbers [M] instead: rows are those in front of the first
                       that is below 0, or no number */
} hu_length_attrs;

#endif
