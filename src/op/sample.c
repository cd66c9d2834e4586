/* sample_normal: z = m + e^(v/2) n with n of the standard normal law: a number with the mean m and
 * the log-variance v, whose gradient goes through both (the reparametrised sample of Kingma and
 * Welling, 2014). Element i of sample s of the batch takes normal number s elements + i of the
 * node's key: chunks do not matter. In check runs n is sqrt(3) times number (samples before)
 * elements
 * + i of the node's name, or of the name and "test" outside of training. In double, one rounding
 * per result; n is made again for the gradient. */
#include "base/elementary.h"
#include "base/formula.h"
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

/* Where the numbers n of a call come from. */
typedef struct noise {
    const hu_op_call *call;
    uint64_t first; /* number of the call's first element */
    uint32_t hash;  /* of the formula */
} noise;

static noise noise_of(const hu_op_call *call) {
    uint64_t elements = (uint64_t)hu_shape_elements(&call->info->in[0]);
    noise n = {call, (uint64_t)(call->before + call->first) * elements, 0};
    if (!call->by_formula) return n;
    n.first += call->drawn * elements;
    n.hash = hu_formula_hash(HU_FORMULA_HASH_START, call->info->name);
    if (!call->training) n.hash = hu_formula_hash(n.hash, "test");
    return n;
}

/* Of element i of the call. The formula's numbers are uniform: sqrt(3) gives them the variance 1.
 */
static double number(const noise *n, int64_t i) {
    static const double sqrt_3 = 1.7320508075688772;
    uint64_t at = n->first + (uint64_t)i;
    if (!n->call->by_formula) return (double)hu_random_normal(&n->call->key, at);
    return sqrt_3 * (double)hu_formula_number(n->hash, (uint32_t)at);
}

/* e^(v/2) n */
static double spread_of(const noise *n, int64_t i) {
    return hu_exp((double)n->call->in[1][i] / 2.0) * number(n, i);
}

static void sample_forward(const hu_op_call *call) {
    int64_t n = call->count * hu_shape_elements(&call->info->in[0]);
    noise drawn = noise_of(call);
    for (int64_t i = 0; i < n; i++)
        call->out[0][i] = (float)((double)call->in[0][i] + spread_of(&drawn, i));
}

/* dm = dz, dv = dz e^(v/2) n / 2 */
static void sample_backward(const hu_op_call *call) {
    int64_t n = call->count * hu_shape_elements(&call->info->in[0]);
    noise drawn = noise_of(call);
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
