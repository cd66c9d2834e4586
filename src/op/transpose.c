/* transpose: rows and columns of the last two extents change places. */
#include "base/error.h"
#include "op/expect.h"
#include "op/op.h"

/* x [.., R, C] -> y [.., C, R] */
static hu_status transpose_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                 hu_shape *out) {
    (void)attrs, (void)n_in;
    hu_status st = hu_expect_rank_least("transpose", in, 2);
    if (st != HU_OK) return st;
    *n_out = 1;
    out[0] = in[0];
    out[0].extent[in->rank - 2] = in->extent[in->rank - 1];
    out[0].extent[in->rank - 1] = in->extent[in->rank - 2];
    return HU_OK;
}

/* from [count, rows, columns] -> to [count, columns, rows] */
static void exchange(int64_t count, int64_t rows, int64_t columns, const float *from, float *to) {
    for (int64_t i = 0; i < count; i++, from += rows * columns, to += rows * columns)
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < columns; c++) to[c * rows + r] = from[r * columns + c];
}

/* Matrices of a call. */
static int64_t matrices(const hu_op_call *call, const hu_shape *shape) {
    const int64_t *last = shape->extent + shape->rank - 2;
    return call->count * (hu_shape_elements(shape) / (last[0] * last[1]));
}

static void transpose_forward(const hu_op_call *call) {
    const hu_shape *in = &call->info->in[0];
    const int64_t *last = in->extent + in->rank - 2;
    exchange(matrices(call, in), last[0], last[1], call->in[0], call->out[0]);
}

static void transpose_backward(const hu_op_call *call) {
    const hu_shape *in = &call->info->in[0];
    const int64_t *last = in->extent + in->rank - 2;
    if (call->din[0]) exchange(matrices(call, in), last[1], last[0], call->dout[0], call->din[0]);
}

const hu_op hu_op_transpose = {.name = "transpose",
                               .min_in = 1,
                               .max_in = 1,
                               .selects_input = true,
                               .selects_gradient = true,
                               .shape = transpose_shape,
                               .saves = HU_SAVE_NOTHING,
                               .forward = transpose_forward,
                               .backward = transpose_backward};
