/* log_softmax over the last extent: in double inside a row, one rounding per element. */
#include "op/softmax.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/softmax_row.h"
#include "op/expect.h"

static const hu_attribute log_softmax_attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "kept", offsetof(hu_log_softmax_attrs, kept), 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0},
};

static int64_t kept_of(const void *attrs) {
    return attrs ? ((const hu_log_softmax_attrs *)attrs)->kept : 0;
}

static hu_status log_softmax_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                   hu_shape *out) {
    (void)n_in;
    *n_out = 1;
    out[0] = in[0];
    hu_status st = hu_expect_rank_least("log_softmax", in, 1);
    if (st == HU_OK && (kept_of(attrs) < 0 || kept_of(attrs) >= hu_channels(in)))
        return hu_fail(HU_ERR_SHAPE,
                       "log_softmax: %" PRId64 " of %" PRId64
                       " numbers of a row are kept, expected 0 or more and at least one logit",
                       kept_of(attrs), hu_channels(in));
    return st;
}

static int64_t rows_of(const hu_op_call *call) {
    const hu_shape *in = &call->info->in[0];
    return call->count * (hu_shape_elements(in) / hu_channels(in));
}

/* Both may be one array. */
static void keep(int64_t count, const float *from, float *to) {
    if (count > 0) memmove(to, from, (size_t)count * sizeof *to);
}

/* x [count, .., classes + kept] -> y, the same shape */
static void log_softmax_forward(const hu_op_call *call) {
    int64_t width = hu_channels(&call->info->in[0]), kept = kept_of(call->info->attrs);
    int64_t classes = width - kept;
    for (int64_t r = 0; r < rows_of(call); r++) {
        const float *x = call->in[0] + r * width;
        float *y = call->out[0] + r * width;
        hu_softmax_row row = hu_softmax_row_of(classes, x);
        for (int64_t c = 0; c < classes; c++) y[c] = (float)hu_log_softmax(row, x[c]);
        keep(kept, x + classes, y + classes);
    }
}

/* dx = dy - exp(y) * sum(dy), y the rounded output (Lee et al.), dy where numbers are kept; all
 * [count, .., classes + kept] */
static void log_softmax_backward(const hu_op_call *call) {
    int64_t width = hu_channels(&call->info->in[0]), kept = kept_of(call->info->attrs);
    int64_t classes = width - kept;
    if (!call->din[0]) return;
    for (int64_t r = 0; r < rows_of(call); r++) {
        const float *y = call->out[0] + r * width, *dy = call->dout[0] + r * width;
        float *dx = call->din[0] + r * width;
        double sum = 0;
        for (int64_t c = 0; c < classes; c++) sum += (double)dy[c];
        for (int64_t c = 0; c < classes; c++)
            dx[c] = (float)((double)dy[c] - hu_exp((double)y[c]) * sum);
        keep(kept, dy + classes, dx + classes);
    }
}

const hu_op hu_op_log_softmax = {.name = "log_softmax",
                                 .keeps_rows = true,
                                 .attrs_bytes = sizeof(hu_log_softmax_attrs),
                                 .attributes = log_softmax_attributes,
                                 .min_in = 1,
                                 .max_in = 1,
                                 .is_cheap = true,
                                 .in_place = true,
                                 .shape = log_softmax_shape,
                                 .saves = HU_SAVE_OUTPUT_0,
                                 .forward = log_softmax_forward,
                                 .backward = log_softmax_backward};
