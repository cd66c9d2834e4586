#include <math.h>

#include "base/error.h"
#include "kernel/elementary/elementary.h"
#include "kernel/fused/fused.h"
#include "op/attributes.h"

/* Functions of each number by itself: what networks of a program's own are made of beside those of
 * activation.c. Each makes its numbers in double and rounds them once, or by one operation in
 * float32; NaN passes. Gradients are those of the stored input, or of the stored output where that
 * tells them. */

/* x of any shape -> y of the same */
static hu_status same_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                            hu_shape *out) {
    (void)attrs, (void)n_in;
    *n_out = 1;
    out[0] = in[0];
    return HU_OK;
}

/* Numbers of the call: [count, shape]. */
static int64_t numbers(const hu_op_call *call) {
    return call->count * hu_shape_elements(&call->info->in[0]);
}

/* The fields that these records share. */
#define UNARY                                                                                      \
    .keeps_rows = true, .min_in = 1, .max_in = 1, .is_cheap = true, .in_place = true,              \
    .shape = same_shape

/* ---- silu, hard_swish, hard_sigmoid ---- */

static void silu_forward(const hu_op_call *call) {
    hu_elementary()->silu(numbers(call), call->in[0], call->out[0]);
}

static void silu_backward(const hu_op_call *call) {
    if (call->din[0])
        hu_elementary()->silu_backward(numbers(call), call->in[0], call->dout[0], call->din[0]);
}

const hu_op hu_op_silu = {.name = "silu",
                          UNARY,
                          .saves = HU_SAVE_INPUT_0,
                          .forward = silu_forward,
                          .backward = silu_backward};

static void hard_swish_forward(const hu_op_call *call) {
    hu_elementary()->hard_swish(numbers(call), call->in[0], call->out[0]);
}

static void hard_swish_backward(const hu_op_call *call) {
    if (call->din[0])
        hu_elementary()->hard_swish_backward(numbers(call), call->in[0], call->dout[0],
                                             call->din[0]);
}

const hu_op hu_op_hard_swish = {.name = "hard_swish",
                                UNARY,
                                .saves = HU_SAVE_INPUT_0,
                                .forward = hard_swish_forward,
                                .backward = hard_swish_backward};

static void hard_sigmoid_forward(const hu_op_call *call) {
    hu_elementary()->hard_sigmoid(numbers(call), call->in[0], call->out[0]);
}

static void hard_sigmoid_backward(const hu_op_call *call) {
    if (call->din[0])
        hu_elementary()->hard_sigmoid_backward(numbers(call), call->in[0], call->dout[0],
                                               call->din[0]);
}

const hu_op hu_op_hard_sigmoid = {.name = "hard_sigmoid",
                                  UNARY,
                                  .saves = HU_SAVE_INPUT_0,
                                  .forward = hard_sigmoid_forward,
                                  .backward = hard_sigmoid_backward};

/* ---- exp, log, sqrt, pow ---- */

static void exp_forward(const hu_op_call *call) {
    hu_elementary()->exponential(numbers(call), call->in[0], call->out[0]);
}

/* dx = dy y, of the rounded output y. */
static void exp_backward(const hu_op_call *call) {
    const float *y = call->out[0], *dy = call->dout[0];
    for (int64_t i = 0, n = numbers(call); call->din[0] && i < n; i++)
        call->din[0][i] = dy[i] * y[i];
}

const hu_op hu_op_exp = {.name = "exp",
                         UNARY,
                         .saves = HU_SAVE_OUTPUT_0,
                         .forward = exp_forward,
                         .backward = exp_backward};

static void log_forward(const hu_op_call *call) {
    hu_elementary()->logarithm(numbers(call), call->in[0], call->out[0]);
}

static void log_backward(const hu_op_call *call) {
    const float *x = call->in[0], *dy = call->dout[0];
    for (int64_t i = 0, n = numbers(call); call->din[0] && i < n; i++)
        call->din[0][i] = dy[i] / x[i];
}

const hu_op hu_op_log = {.name = "log",
                         UNARY,
                         .saves = HU_SAVE_INPUT_0,
                         .forward = log_forward,
                         .backward = log_backward};

static void sqrt_forward(const hu_op_call *call) {
    const float *x = call->in[0];
    for (int64_t i = 0, n = numbers(call); i < n; i++) call->out[0][i] = sqrtf(x[i]);
}

/* dx = dy / 2y, of the rounded output y. */
static void sqrt_backward(const hu_op_call *call) {
    const float *y = call->out[0], *dy = call->dout[0];
    for (int64_t i = 0, n = numbers(call); call->din[0] && i < n; i++)
        call->din[0][i] = (float)((double)dy[i] / (2.0 * (double)y[i]));
}

const hu_op hu_op_sqrt = {.name = "sqrt",
                          UNARY,
                          .saves = HU_SAVE_OUTPUT_0,
                          .forward = sqrt_forward,
                          .backward = sqrt_backward};

static hu_status pow_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                           hu_shape *out) {
    const hu_pow_attrs *a = attrs;
    if (isfinite(a->exponent) && (a->exponent < 0 || a->exponent > 0))
        return same_shape(attrs, n_in, in, n_out, out);
    return hu_fail(HU_ERR_ARGUMENT, "pow: exponent %g, expected a finite number that is not 0",
                   a->exponent);
}

static double exponent_of(const hu_op_call *call) {
    const hu_pow_attrs *a = call->info->attrs;
    return a->exponent;
}

static void pow_forward(const hu_op_call *call) {
    hu_elementary()->power(numbers(call), exponent_of(call), call->in[0], call->out[0]);
}

static void pow_backward(const hu_op_call *call) {
    if (call->din[0])
        hu_elementary()->power_backward(numbers(call), exponent_of(call), call->in[0],
                                        call->dout[0], call->din[0]);
}

static const hu_attribute pow_attributes[] = {
    {HU_ATTRIBUTE_DOUBLE, "exponent", offsetof(hu_pow_attrs, exponent), NAN, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

const hu_op hu_op_pow = {.name = "pow",
                         .keeps_rows = true,
                         .attrs_bytes = sizeof(hu_pow_attrs),
                         .attributes = pow_attributes,
                         .min_in = 1,
                         .max_in = 1,
                         .in_place = true,
                         .is_cheap = true,
                         .shape = pow_shape,
                         .saves = HU_SAVE_INPUT_0,
                         .forward = pow_forward,
                         .backward = pow_backward};

/* ---- square, abs, neg ---- */

static void square_forward(const hu_op_call *call) {
    const float *x = call->in[0];
    for (int64_t i = 0, n = numbers(call); i < n; i++) call->out[0][i] = x[i] * x[i];
}

/* dx = 2 x dy, whose product is exact in double. */
static void square_backward(const hu_op_call *call) {
    const float *x = call->in[0], *dy = call->dout[0];
    for (int64_t i = 0, n = numbers(call); call->din[0] && i < n; i++)
        call->din[0][i] = (float)(2.0 * (double)x[i] * (double)dy[i]);
}

const hu_op hu_op_square = {.name = "square",
                            UNARY,
                            .saves = HU_SAVE_INPUT_0,
                            .forward = square_forward,
                            .backward = square_backward};

static void abs_forward(const hu_op_call *call) {
    const float *x = call->in[0];
    for (int64_t i = 0, n = numbers(call); i < n; i++) call->out[0][i] = fabsf(x[i]);
}

/* dx = dy times the sign of x, which is x itself where that is 0 or NaN. */
static void abs_backward(const hu_op_call *call) {
    const float *x = call->in[0], *dy = call->dout[0];
    for (int64_t i = 0, n = numbers(call); call->din[0] && i < n; i++) {
        float low = x[i] < 0 ? -1.0f : x[i], sign = x[i] > 0 ? 1.0f : low;
        call->din[0][i] = dy[i] * sign;
    }
}

const hu_op hu_op_abs = {.name = "abs",
                         UNARY,
                         .saves = HU_SAVE_INPUT_0,
                         .forward = abs_forward,
                         .backward = abs_backward};

static void negate(int64_t n, const float *from, float *to) {
    for (int64_t i = 0; i < n; i++) to[i] = -from[i];
}

static void neg_forward(const hu_op_call *call) {
    negate(numbers(call), call->in[0], call->out[0]);
}

static void neg_backward(const hu_op_call *call) {
    if (call->din[0]) negate(numbers(call), call->dout[0], call->din[0]);
}

const hu_op hu_op_neg = {.name = "neg",
                         UNARY,
                         .saves = HU_SAVE_NOTHING,
                         .forward = neg_forward,
                         .backward = neg_backward};

/* ---- clip: y = x between low and high; gradients go where low <= x <= high, as in torch.clamp */

static hu_status clip_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                            hu_shape *out) {
    const hu_clip_attrs *a = attrs;
    if (a->low < a->high && (isfinite(a->low) || isfinite(a->high)))
        return same_shape(attrs, n_in, in, n_out, out);
    return hu_fail(HU_ERR_ARGUMENT,
                   "clip: low=%g high=%g, expected one of them or both, low below high",
                   (double)a->low, (double)a->high);
}

/* One bit per element; each sample begins a new byte. */
static size_t clip_mask_bytes(const hu_node_info *info) {
    return ((size_t)hu_shape_elements(&info->in[0]) + 7) / 8;
}

/* Samples that fill whole bytes are one run for the kernels. */
static int64_t run_elements(const hu_op_call *call) {
    int64_t n = hu_shape_elements(&call->info->in[0]);
    return n % 8 ? n : n * call->count;
}

static void clip_forward(const hu_op_call *call) {
    const hu_clip_attrs *a = call->info->attrs;
    int64_t n = run_elements(call), bytes = (n + 7) / 8;
    for (int64_t i = 0; i * n < numbers(call); i++)
        hu_fused()->clip(n, a->low, a->high, call->in[0] + i * n, call->out[0] + i * n,
                         call->mask + i * bytes);
}

static void clip_backward(const hu_op_call *call) {
    int64_t n = run_elements(call), bytes = (n + 7) / 8;
    for (int64_t i = 0; call->din[0] && i * n < numbers(call); i++)
        hu_fused()->relu_backward(n, call->dout[0] + i * n, call->mask + i * bytes,
                                  call->din[0] + i * n);
}

static const hu_attribute clip_attributes[] = {
    {HU_ATTRIBUTE_REAL, "low", offsetof(hu_clip_attrs, low), -INFINITY, 0, 0},
    {HU_ATTRIBUTE_REAL, "high", offsetof(hu_clip_attrs, high), INFINITY, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

const hu_op hu_op_clip = {.name = "clip",
                          .keeps_rows = true,
                          .attrs_bytes = sizeof(hu_clip_attrs),
                          .attributes = clip_attributes,
                          .min_in = 1,
                          .max_in = 1,
                          .is_cheap = true,
                          .in_place = true,
                          .selects_gradient = true,
                          .shape = clip_shape,
                          .saves = HU_SAVE_NOTHING,
                          .mask_bytes = clip_mask_bytes,
                          .forward = clip_forward,
                          .backward = clip_backward};
