/* Numbers of the normal law, drawn anew in every step. normal: n alone, of no input. sample_normal:
 * z = m + e^(v/2) n, a number with the mean m and the log-variance v, whose gradient goes through
 * both (the reparametrised sample of Kingma and Welling, 2014). n is a normal number of the node's
 * key, in check runs sqrt(3) times one of the formula (op/noise.h). In double, one rounding per
 * result; n is made again for the gradient. */
#include "op/sample.h"

#include <math.h>

#include "base/elementary.h"
#include "base/error.h"
#include "base/rng.h"
#include "op/attribute.h"
#include "op/expect.h"
#include "op/noise.h"

/* m, v of any shape -> z of the same */
static hu_status sample_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                              hu_shape *out) {
    (void)attrs;
    *n_out = 1;
    out[0] = in[0];
    return hu_expect_same("sample_normal", n_in, in);
}

static hu_noise noise_of(const hu_op_call *call) {
    return hu_noise_of(call, hu_shape_elements(&call->info->out[0]));
}

/* Of element i of the call. The formula's numbers are uniform: sqrt(3) gives them the variance 1.
 */
static double number(const hu_noise *n, int64_t i) {
    static const double sqrt_3 = 1.7320508075688772;
    uint64_t at = n->first + (uint64_t)i;
    if (!n->call->by_formula) return (double)hu_random_normal(&n->call->key, at);
    return sqrt_3 * (double)hu_formula_number(n->hash, (uint32_t)at);
}

/* e^(v/2) n */
static double spread_of(const hu_noise *n, int64_t i) {
    return hu_exp((double)n->call->in[1][i] / 2.0) * number(n, i);
}

static void sample_forward(const hu_op_call *call) {
    int64_t n = call->count * hu_shape_elements(&call->info->in[0]);
    hu_noise drawn = noise_of(call);
    for (int64_t i = 0; i < n; i++)
        call->out[0][i] = (float)((double)call->in[0][i] + spread_of(&drawn, i));
}

/* dm = dz, dv = dz e^(v/2) n / 2 */
static void sample_backward(const hu_op_call *call) {
    int64_t n = call->count * hu_shape_elements(&call->info->in[0]);
    hu_noise drawn = noise_of(call);
    const float *dz = call->dout[0];
    for (int64_t i = 0; call->din[0] && i < n; i++) call->din[0][i] = dz[i];
    for (int64_t i = 0; call->din[1] && i < n; i++)
        call->din[1][i] = (float)((double)dz[i] * spread_of(&drawn, i) / 2.0);
}

const hu_op hu_op_sample_normal = {.name = "sample_normal",
                                   .min_in = 2,
                                   .max_in = 2,
                                   .shape = sample_shape,
                                   .saves = HU_SAVE_INPUT_1,
                                   .forward = sample_forward,
                                   .backward = sample_backward};

/* ---- normal: numbers that nothing decides but their place; no gradient comes to them ---- */

/* -> [numbers] */
static hu_status normal_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                              hu_shape *out) {
    const hu_normal_attrs *a = attrs;
    (void)n_in, (void)in;
    *n_out = 1;
    out[0] = (hu_shape){.rank = 1, .extent = {a->numbers}};
    if (a->numbers > 0) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "normal: found %lld numbers, expected at least 1",
                   (long long)a->numbers);
}

static void normal_forward(const hu_op_call *call) {
    int64_t n = call->count * hu_shape_elements(&call->info->out[0]);
    hu_noise drawn = noise_of(call);
    for (int64_t i = 0; i < n; i++) call->out[0][i] = (float)number(&drawn, i);
}

static const hu_attribute normal_attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "numbers", offsetof(hu_normal_attrs, numbers), NAN},
    {HU_ATTRIBUTE_END, NULL, 0, 0},
};

const hu_op hu_op_normal = {.name = "normal",
                            .attrs_bytes = sizeof(hu_normal_attrs),
                            .attributes = normal_attributes,
                            .shape = normal_shape,
                            .saves = HU_SAVE_NOTHING,
                            .forward = normal_forward};
