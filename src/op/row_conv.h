/* op/row_conv.h - attributes of row_conv. */
#ifndef HU_OP_ROW_CONV_H
#define HU_OP_ROW_CONV_H
#include "op/op.h"

/* Row convolution (Amodei et al. 2016, "Deep Speech 2", 3.7): each row of in[0] [T, C] becomes a
 * weighted sum of itself and the rows behind it, channel by channel: y_t,c = sum over k of w_k,c
 * x_(t+k),c. Beyond the last row of the sample lie zeros; in[1], where there is one, says how many
 * rows are there (op/row_count.h), and the others become 0. Parameter: weight [context, C]. Sums in
 * double in the order of k, one rounding. */
typedef struct hu_row_conv_attrs {
    int64_t context; /* rows that are looked at, the row itself among them */
    hu_init weight_init;
} hu_row_conv_attrs;

#endif
