/* sinusoid: y = x + p, rows that tell their place by waves (Vaswani et al., 2017, in the form of
 * fairseq, sines in front of cosines). p[t, j] = sin(t w_j) and p[t, D/2 + j] = cos(t w_j), w_j =
 * e^(-j ln(10000) / (D/2 - 1)), are made once, in double; the sum is rounded once. */
#include <inttypes.h>
#include <string.h>

#include "base/elementary.h"
#include "base/error.h"
#include "base/memory.h"
#include "op/expect.h"
#include "op/op.h"

/* x [T, D] -> y, the same shape */
static hu_status sinusoid_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                hu_shape *out) {
    enum { LEAST = 4 };
    hu_status st = hu_expect_rank("sinusoid", in, 2);
    (void)attrs, (void)n_in;
    if (st != HU_OK) return st;
    *n_out = 1;
    out[0] = in[0];
    int64_t rows = in->extent[0], width = in->extent[1];
    if (width % 2 == 0 && width >= LEAST && rows <= (int64_t)HU_ANGLE_MOST) return HU_OK;
    return hu_fail(HU_ERR_SHAPE,
                   "sinusoid: found %" PRId64 " rows of %" PRId64
                   " numbers, expected at most %.0f rows of an even number, at least %d",
                   rows, width, HU_ANGLE_MOST, LEAST);
}

/* State: p [T, D]. */
static hu_status sinusoid_create(const hu_node_info *info, void **state) {
    int64_t rows = info->in[0].extent[0], half = info->in[0].extent[1] / 2;
    double *p, step = hu_log(10000.0) / (double)(half - 1);
    hu_status st = HU_NEW_ARRAY(&p, (size_t)(rows * 2 * half));
    for (int64_t t = 0; st == HU_OK && t < rows; t++)
        for (int64_t j = 0; j < half; j++) {
            double angle = (double)t * hu_exp(-(double)j * step);
            p[t * 2 * half + j] = hu_sin(angle);
            p[t * 2 * half + half + j] = hu_cos(angle);
        }
    *state = st == HU_OK ? p : NULL;
    return st;
}

static void sinusoid_forward(const hu_op_call *call) {
    int64_t n = hu_shape_elements(&call->info->in[0]);
    const double *p = call->state;
    for (int64_t s = 0; s < call->count; s++)
        for (int64_t i = 0; i < n; i++)
            call->out[0][s * n + i] = (float)((double)call->in[0][s * n + i] + p[i]);
}

/* dx = dy */
static void sinusoid_backward(const hu_op_call *call) {
    size_t bytes = (size_t)(call->count * hu_shape_elements(&call->info->in[0])) * sizeof(float);
    if (call->din[0] && call->din[0] != call->dout[0]) memcpy(call->din[0], call->dout[0], bytes);
}

const hu_op hu_op_sinusoid = {.name = "sinusoid",
                              .keeps_rows = true,
                              .min_in = 1,
                              .max_in = 1,
                              .in_place = true,
                              .selects_gradient = true,
                              .shape = sinusoid_shape,
                              .saves = HU_SAVE_NOTHING,
                              .create = sinusoid_create,
                              .release = hu_free,
                              .forward = sinusoid_forward,
                              .backward = sinusoid_backward};
