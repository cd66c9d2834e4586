/* sample_normal: z = m + e^(v/2) n with n of the standard normal law: a number with the mean m and
 * the log-variance v, whose gradient goes through both (the reparametrised sample of Kingma and
 * Welling, 2014). Element i of sample s of the batch takes normal number s elements + i of the
 * node's key: chunks do not matter. In double, one rounding per result; n is made again for the
 * gradient. */
#include "base/elementary.h"
#include "base/rng.h"
#include "op/expect.h"
#include "op/op.h"

/* m, v of any shape -> z of the same */
static hu_status sample_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                              hu_shape *out) {
    (void)attrs;
    *n_out = 1;
    out[0] = in[0];
    return hu_expect_same("sample_normal", n_in, in);
}

/* Element i of the call. */
static double noise_of(const hu_op_call *call, int64_t i) {
    int64_t elements = hu_shape_elements(&call->info->in[0]);
    uint64_t at = (uint64_t)((call->before + call->first) * elements + i);
    return (double)hu_random_normal(&call->key, at);
}

/* e^(v/2) n */
static double spread_of(const hu_op_call *call, int64_t i) {
    return hu_exp((double)call->in[1][i] / 2.0) * noise_of(call, i);
}

static void sample_forward(const hu_op_call *call) {
    int64_t n = call->count * hu_shape_elements(&call->info->in[0]);
    for (int64_t i = 0; i < n; i++)
        call->out[0][i] = (float)((double)call->in[0][i] + spread_of(call, i));
}

/* dm = dz, dv = dz e^(v/2) n / 2 */
static void sample_backward(const hu_op_call *call) {
    int64_t n = call->count * hu_shape_elements(&call->info->in[0]);
    const float *dz = call->dout[0];
    for (int64_t i = 0; call->din[0] && i < n; i++) call->din[0][i] = dz[i];
    for (int64_t i = 0; call->din[1] && i < n; i++)
        call->din[1][i] = (float)((double)dz[i] * spread_of(call, i) / 2.0);
}

const hu_op hu_op_sample_normal = {.name = "sample_normal",
                                   .min_in = 2,
                                   .max_in = 2,
                                   .shape = sample_shape,
                                   .saves = HU_SAVE_INPUT_1,
                                   .forward = sample_forward,
                                   .backward = sample_backward};
