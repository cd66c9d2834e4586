/* add_row: one row is added to each of many: what attention compares with every word. */
#include "kernel/fused/fused.h"
#include "op/expect.h"
#include "op/op.h"

enum { ROWS, ROW };

/* rows [S, C], row [C] -> [S, C] */
static hu_status shape(const void *attrs, int n_in, const hu_shape *in, int *n_out, hu_shape *out) {
    (void)attrs, (void)n_in;
    hu_status st = hu_expect_rank("add_row", &in[ROWS], 2);
    if (st != HU_OK) return st;
    *n_out = 1;
    out[0] = in[ROWS];
    return hu_expect_same("add_row", 2, (hu_shape[]){{1, {hu_channels(&in[ROWS])}}, in[ROW]});
}

static void forward(const hu_op_call *call) {
    int64_t rows = call->info->in[ROWS].extent[0], n = call->info->in[ROWS].extent[1];
    for (int64_t r = 0; r < call->count * rows; r++)
        hu_fused()->add(n, call->in[ROWS] + r * n, call->in[ROW] + r / rows * n,
                        call->out[0] + r * n);
}

/* drows = dy; drow = sum of the rows of dy, s ascending, in double */
static void backward(const hu_op_call *call) {
    int64_t rows = call->info->in[ROWS].extent[0], n = call->info->in[ROWS].extent[1];
    const float *dy = call->dout[0];
    for (int64_t k = 0; call->din[ROWS] && k < call->count * rows * n; k++)
        call->din[ROWS][k] = dy[k];
    for (int64_t s = 0; call->din[ROW] && s < call->count; s++, dy += rows * n)
        for (int64_t c = 0; c < n; c++) {
            double sum = 0.0;
            for (int64_t r = 0; r < rows; r++) sum += (double)dy[r * n + c];
            call->din[ROW][s * n + c] = (float)sum;
        }
}

const hu_op hu_op_add_row = {.name = "add_row",
                             .min_in = 2,
                             .max_in = 2,
                             .held = 1u << ROWS,
                             .keeps_rows = true,
                             .shape = shape,
                             .forward = forward,
                             .backward = backward};
