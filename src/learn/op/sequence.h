/* op/sequence.h - sequences that are shorter than there is room for: row lengths and what reads
 * them. */
#ifndef HU_OP_SEQUENCE_H
#define HU_OP_SEQUENCE_H
#include "base/checked.h"
#include "op/op.h"

/* ---- row count ---- */

/* Sequences that are shorter than there is room for: how many rows of a sample are
 * there. */

/* Rows (first extent of input 0) of sample s of the call that are there, by what input `which`
 * says. Without such an input all of them. */
static inline int64_t hu_row_count(const hu_op_call *call, int which, int64_t s) {
    int64_t rows = call->info->in[0].extent[0];
    return which < call->info->n_in ? hu_rows_of_length(call->in[which][s], rows) : rows;
}

/* HU_ERR_SHAPE unless input `which`, where there is one, is a number of rows of input 0. */
hu_status hu_expect_row_count(const char *op, int which, int n_in, const hu_shape *in);

/* HU_ERR_SHAPE unless input `which`, where there is one, is one number of a sample, as [1] or as a
 * scalar. */
hu_status hu_expect_lengths(const char *op, int which, int n_in, const hu_shape *in);

/* ---- length ---- */

/* Attributes of length: how many rows of a sequence are left behind a layer. */

/* length: in[0] a number of rows -> out[0] the same number, divided by stride and rounded up: what
 * a convolution of this stride that keeps the length otherwise makes of them. */
typedef struct hu_length_attrs {
    int64_t stride; /* at least 1 */
    bool leading;   /* in[0] is a list of numbers [M] instead: rows are those in front of the first
                       that is below 0, or no number */
} hu_length_attrs;

/* ---- Attributes of row_conv ---- */

/* Row convolution (Amodei et al. 2016, "Deep Speech 2", 3.7): each row of in[0] [T, C] becomes a
 * weighted sum of itself and the rows behind it, channel by channel: y_t,c = sum over k of w_k,c
 * x_(t+k),c. Beyond the last row of the sample lie zeros; in[1], where there is one, says how many
 * rows are there (op/sequence.h), and the others become 0. Parameter: weight [context, C]. Sums in
 * double in the order of k, one rounding. */
typedef struct hu_row_conv_attrs {
    int64_t context; /* rows that are looked at, the row itself among them */
    hu_init weight_init;
} hu_row_conv_attrs;

#endif
