/* interleave: parts of C channels each -> one image whose channel c * parts + i is channel c of
 * part i: a concatenation and the channel shuffle behind it, with as many groups as parts, in one
 * move. Source: ShuffleNet (Zhang et al.). */
#include <inttypes.h>

#include "base/checked.h"
#include "base/error.h"
#include "op/expect.h"
#include "op/op.h"

static hu_status interleave_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                  hu_shape *out) {
    hu_status st;
    int64_t channels;
    (void)attrs;
    HU_TRY(hu_expect_rank_least("interleave", &in[0], 1));
    HU_TRY(hu_expect_same("interleave", n_in, in));
    if (!hu_mul_i64(hu_channels(&in[0]), n_in, &channels))
        return hu_fail(HU_ERR_SHAPE, "interleave: %d times %" PRId64 " channels do not fit 63 bits",
                       n_in, hu_channels(&in[0]));
    *n_out = 1;
    out[0] = in[0];
    out[0].extent[in[0].rank - 1] = channels;
    st = hu_shape_check(out);
done:
    return st;
}

/* Numbers of one part in the call. */
static int64_t part_elements(const hu_op_call *call) {
    return call->count * hu_shape_elements(&call->info->in[0]);
}

static void put_pair(int64_t n, const float *restrict a, const float *restrict b,
                     float *restrict y) {
    for (int64_t i = 0; i < n; i++) {
        y[2 * i] = a[i];
        y[2 * i + 1] = b[i];
    }
}

static void take_pair(int64_t n, const float *restrict y, float *restrict a, float *restrict b) {
    for (int64_t i = 0; i < n; i++) {
        a[i] = y[2 * i];
        b[i] = y[2 * i + 1];
    }
}

static void interleave_forward(const hu_op_call *call) {
    int64_t n = part_elements(call), parts = call->info->n_in;
    float *y = call->out[0];
    if (parts == 2) {
        put_pair(n, call->in[0], call->in[1], y);
        return;
    }
    for (int p = 0; p < parts; p++)
        for (int64_t i = 0; i < n; i++) y[i * parts + p] = call->in[p][i];
}

static void interleave_backward(const hu_op_call *call) {
    int64_t n = part_elements(call), parts = call->info->n_in;
    const float *dy = call->dout[0];
    if (parts == 2 && call->din[0] && call->din[1]) {
        take_pair(n, dy, call->din[0], call->din[1]);
        return;
    }
    for (int p = 0; p < parts; p++)
        for (int64_t i = 0; call->din[p] && i < n; i++) call->din[p][i] = dy[i * parts + p];
}

const hu_op hu_op_interleave = {.name = "interleave",
                                .min_in = 1,
                                .max_in = -1,
                                .selects_gradient = true,
                                .shape = interleave_shape,
                                .saves = HU_SAVE_NOTHING,
                                .forward = interleave_forward,
                                .backward = interleave_backward};
