/* log_softmax over the last extent: in double inside a row, one rounding per element. */
#include "op/expect.h"
#include "op/op.h"
#include "op/softmax_row.h"

static hu_status log_softmax_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                   hu_shape *out) {
    (void)attrs, (void)n_in;
    *n_out = 1;
    out[0] = in[0];
    return hu_expect_rank_least("log_softmax", in, 1);
}

static int64_t rows_of(const hu_op_call *call) {
    const hu_shape *in = &call->info->in[0];
    return call->count * (hu_shape_elements(in) / hu_channels(in));
}

/* x [count, .., classes] -> y, the same shape */
static void log_softmax_forward(const hu_op_call *call) {
    int64_t classes = hu_channels(&call->info->in[0]);
    for (int64_t r = 0; r < rows_of(call); r++) {
        const float *x = call->in[0] + r * classes;
        float *y = call->out[0] + r * classes;
        hu_softmax_row row = hu_softmax_row_of(classes, x);
        for (int64_t c = 0; c < classes; c++) y[c] = (float)hu_log_softmax(row, x[c]);
    }
}

/* dx = dy - exp(y) * sum(dy), y the rounded output (Lee et al.); all [count, .., classes] */
static void log_softmax_backward(const hu_op_call *call) {
    int64_t classes = hu_channels(&call->info->in[0]);
    if (!call->din[0]) return;
    for (int64_t r = 0; r < rows_of(call); r++) {
        const float *y = call->out[0] + r * classes, *dy = call->dout[0] + r * classes;
        float *dx = call->din[0] + r * classes;
        double sum = 0;
        for (int64_t c = 0; c < classes; c++) sum += (double)dy[c];
        for (int64_t c = 0; c < classes; c++)
            dx[c] = (float)((double)dy[c] - hu_exp((double)y[c]) * sum);
    }
}

const hu_op hu_op_log_softmax = {.name = "log_softmax",
                                 .min_in = 1,
                                 .max_in = 1,
                                 .is_cheap = true,
                                 .in_place = true,
                                 .shape = log_softmax_shape,
                                 .saves = HU_SAVE_OUTPUT_0,
                                 .forward = log_softmax_forward,
                                 .backward = log_softmax_backward};
