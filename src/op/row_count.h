/* op/row_count.h - sequences that are shorter than there is room for: how many rows of a sample are
 * there. */
#ifndef HU_OP_ROW_COUNT_H
#define HU_OP_ROW_COUNT_H
#include "base/whole.h"
#include "op/op.h"

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

#endif
