#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "kernel/elementary/elementary.h"
#include "kernel/fused/fused.h"
#include "op/attributes.h"

/* ---- Attributes of the element-wise operations ---- */

/* x of any shape -> y of the same */
static hu_status same_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                            hu_shape *out) {
    (void)attrs, (void)n_in;
    *n_out = 1;
    out[0] = in[0];
    return HU_OK;
}

/* One bit per element; each sample begins a new byte. */
static size_t relu_mask_bytes(const hu_node_info *info) {
    return ((size_t)hu_shape_elements(&info->in[0]) + 7) / 8;
}

/* Samples that fill whole bytes are one run for the kernel. */
static void relu_runs(const hu_op_call *call, int64_t *runs, int64_t *elements) {
    int64_t n = hu_shape_elements(&call->info->in[0]);
    *runs = n % 8 ? call->count : 1;
    *elements = n % 8 ? n : n * call->count;
}

/* x [count, shape] -> y, mask [count, mask_bytes] */
static void relu_forward(const hu_op_call *call) {
    int64_t runs, n, bytes = (int64_t)relu_mask_bytes(call->info);
    relu_runs(call, &runs, &n);
    for (int64_t i = 0; i < runs; i++)
        hu_fused()->relu(n, call->in[0] + i * n, call->out[0] + i * n, call->mask + i * bytes);
}

/* dx = dy where the bit is 1, else +0. */
static void relu_backward(const hu_op_call *call) {
    int64_t runs, n, bytes = (int64_t)relu_mask_bytes(call->info);
    if (!call->din[0]) return;
    relu_runs(call, &runs, &n);
    for (int64_t i = 0; i < runs; i++)
        hu_fused()->relu_backward(n, call->dout[0] + i * n, call->mask + i * bytes,
                                  call->din[0] + i * n);
}

const hu_op hu_op_relu = {.name = "relu",
                          .keeps_rows = true,
                          .min_in = 1,
                          .max_in = 1,
                          .is_cheap = true,
                          .in_place = true,
                          .is_relu = true,
                          .selects_input = true,
                          .selects_gradient = true,
                          .shape = same_shape,
                          .saves = HU_SAVE_NOTHING,
                          .mask_bytes = relu_mask_bytes,
                          .forward = relu_forward,
                          .backward = relu_backward};

/* ---- leaky_relu: y = x where x > 0, else slope x, one product in float32 ---- */

static hu_status leaky_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                             hu_shape *out) {
    const hu_leaky_relu_attrs *a = attrs;
    if (isfinite(a->slope)) return same_shape(attrs, n_in, in, n_out, out);
    return hu_fail(HU_ERR_ARGUMENT, "leaky_relu: slope %g, expected a finite number",
                   (double)a->slope);
}

static float slope_of(const hu_op_call *call) {
    const hu_leaky_relu_attrs *a = call->info->attrs;
    return a->slope;
}

/* Up to 8 numbers and their bits. No branch: signs of activations cannot be foreseen. */
static uint8_t leaky_byte(int64_t n, float slope, const float *x, float *y) {
    unsigned bits = 0;
    for (int64_t i = 0; i < n; i++) bits |= (unsigned)!(x[i] <= 0) << i;
    for (int64_t i = 0; i < n; i++) {
        float low = slope * x[i];
        y[i] = x[i] <= 0 ? low : x[i];
    }
    return (uint8_t)bits;
}

static void leaky_forward(const hu_op_call *call) {
    int64_t n = hu_shape_elements(&call->info->in[0]);
    size_t bytes = relu_mask_bytes(call->info);
    float slope = slope_of(call);
    for (int64_t s = 0; s < call->count; s++) {
        const float *x = call->in[0] + s * n;
        float *y = call->out[0] + s * n;
        uint8_t *mask = call->mask + (size_t)s * bytes;
        int64_t whole = n / 8;
        for (int64_t b = 0; b < whole; b++) mask[b] = leaky_byte(8, slope, x + 8 * b, y + 8 * b);
        if (n % 8) mask[whole] = leaky_byte(n % 8, slope, x + 8 * whole, y + 8 * whole);
    }
}

/* dx = dy where the bit is 1, else slope dy: of up to 8 numbers, which it selects by their bits. */
static void leaky_back_byte(int64_t n, float slope, unsigned bits, const float *dy, float *dx) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t keep = 0u - (bits >> i & 1u);
        uint32_t low = hu_f32_bits(slope * dy[i]), high = hu_f32_bits(dy[i]);
        dx[i] = hu_f32_of_bits((high & keep) | (low & ~keep));
    }
}

static void leaky_backward(const hu_op_call *call) {
    int64_t n = hu_shape_elements(&call->info->in[0]);
    size_t bytes = relu_mask_bytes(call->info);
    float slope = slope_of(call);
    for (int64_t s = 0; call->din[0] && s < call->count; s++) {
        const float *dy = call->dout[0] + s * n;
        float *dx = call->din[0] + s * n;
        const uint8_t *mask = call->mask + (size_t)s * bytes;
        int64_t whole = n / 8;
        for (int64_t b = 0; b < whole; b++)
            leaky_back_byte(8, slope, mask[b], dy + 8 * b, dx + 8 * b);
        if (n % 8) leaky_back_byte(n % 8, slope, mask[whole], dy + 8 * whole, dx + 8 * whole);
    }
}

static const hu_attribute leaky_attributes[] = {
    {HU_ATTRIBUTE_REAL, "slope", offsetof(hu_leaky_relu_attrs, slope), 0.01, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

const hu_op hu_op_leaky_relu = {.name = "leaky_relu",
                                .keeps_rows = true,
                                .attrs_bytes = sizeof(hu_leaky_relu_attrs),
                                .attributes = leaky_attributes,
                                .min_in = 1,
                                .max_in = 1,
                                .in_place = true,
                                .shape = leaky_shape,
                                .saves = HU_SAVE_NOTHING,
                                .mask_bytes = relu_mask_bytes,
                                .forward = leaky_forward,
                                .backward = leaky_backward};

/* ---- clipped_relu: y = x between 0 and the limit; backward is that of relu ---- */

static hu_status clipped_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                               hu_shape *out) {
    const hu_clipped_relu_attrs *a = attrs;
    if (isfinite(a->limit) && a->limit > 0.0f) return same_shape(attrs, n_in, in, n_out, out);
    return hu_fail(HU_ERR_ARGUMENT, "clipped_relu: limit %g, expected a finite number above 0",
                   (double)a->limit);
}

/* Up to 8 numbers and their bits: 0 < x < limit, or NaN. */
static uint8_t clipped_byte(int64_t n, float limit, const float *x, float *y) {
    unsigned bits = 0;
    for (int64_t i = 0; i < n; i++) bits |= (unsigned)!((x[i] <= 0) | (x[i] >= limit)) << i;
    for (int64_t i = 0; i < n; i++) {
        float low = x[i] <= 0 ? 0.0f : x[i];
        y[i] = x[i] >= limit ? limit : low;
    }
    return (uint8_t)bits;
}

static void clipped_forward(const hu_op_call *call) {
    const hu_clipped_relu_attrs *a = call->info->attrs;
    int64_t n = hu_shape_elements(&call->info->in[0]);
    size_t bytes = relu_mask_bytes(call->info);
    for (int64_t s = 0; s < call->count; s++)
        for (int64_t i = 0; i < n; i += 8)
            call->mask[(size_t)s * bytes + (size_t)(i / 8)] = clipped_byte(
                n - i < 8 ? n - i : 8, a->limit, call->in[0] + s * n + i, call->out[0] + s * n + i);
}

static const hu_attribute clipped_attributes[] = {
    {HU_ATTRIBUTE_REAL, "limit", offsetof(hu_clipped_relu_attrs, limit), 20, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

const hu_op hu_op_clipped_relu = {.name = "clipped_relu",
                                  .keeps_rows = true,
                                  .attrs_bytes = sizeof(hu_clipped_relu_attrs),
                                  .attributes = clipped_attributes,
                                  .min_in = 1,
                                  .max_in = 1,
                                  .in_place = true,
                                  .selects_gradient = true,
                                  .shape = clipped_shape,
                                  .saves = HU_SAVE_NOTHING,
                                  .mask_bytes = relu_mask_bytes,
                                  .forward = clipped_forward,
                                  .backward = relu_backward};

/* ---- sigmoid ---- */

/* y = 1 / (1 + e^-x) in double, one rounding; e^-x may be infinite, y is then 0. */
static void sigmoid_forward(const hu_op_call *call) {
    int64_t n = call->count * hu_shape_elements(&call->info->in[0]);
    hu_elementary()->sigmoid(n, call->in[0], call->out[0]);
}

/* dx = dy (1 - y) y, of the rounded output y. */
static void sigmoid_backward(const hu_op_call *call) {
    int64_t n = call->count * hu_shape_elements(&call->info->in[0]);
    const float *y = call->out[0], *dy = call->dout[0];
    if (!call->din[0]) return;
    for (int64_t i = 0; i < n; i++) call->din[0][i] = dy[i] * ((1.0f - y[i]) * y[i]);
}

const hu_op hu_op_sigmoid = {.name = "sigmoid",
                             .keeps_rows = true,
                             .min_in = 1,
                             .max_in = 1,
                             .in_place = true,
                             .shape = same_shape,
                             .saves = HU_SAVE_OUTPUT_0,
                             .forward = sigmoid_forward,
                             .backward = sigmoid_backward};

/* ---- tanh ---- */

/* y in double, one rounding. */
static void tanh_forward(const hu_op_call *call) {
    int64_t n = call->count * hu_shape_elements(&call->info->in[0]);
    hu_elementary()->tangent(n, call->in[0], call->out[0]);
}

/* dx = dy (1 - y^2), of the rounded output y; in double, one rounding. */
static void tanh_backward(const hu_op_call *call) {
    int64_t n = call->count * hu_shape_elements(&call->info->in[0]);
    if (call->din[0])
        hu_elementary()->tangent_backward(n, call->out[0], call->dout[0], call->din[0]);
}

const hu_op hu_op_tanh = {.name = "tanh",
                          .keeps_rows = true,
                          .min_in = 1,
                          .max_in = 1,
                          .shape = same_shape,
                          .saves = HU_SAVE_OUTPUT_0,
                          .forward = tanh_forward,
                          .backward = tanh_backward};

/* ---- gelu ---- */

static bool by_tanh(const hu_op_call *call) {
    const hu_gelu_attrs *a = call->info->attrs;
    return a && a->by_tanh;
}

/* y in double, one rounding. */
static void gelu_forward(const hu_op_call *call) {
    int64_t n = call->count * hu_shape_elements(&call->info->in[0]);
    if (by_tanh(call))
        hu_elementary()->gelu_tanh(n, call->in[0], call->out[0]);
    else
        hu_elementary()->gelu(n, call->in[0], call->out[0]);
}

/* dx of the input, which an output does not tell: GELU falls before it rises. */
static void gelu_backward(const hu_op_call *call) {
    int64_t n = call->count * hu_shape_elements(&call->info->in[0]);
    if (!call->din[0]) return;
    if (by_tanh(call))
        hu_elementary()->gelu_tanh_backward(n, call->in[0], call->dout[0], call->din[0]);
    else
        hu_elementary()->gelu_backward(n, call->in[0], call->dout[0], call->din[0]);
}

static const hu_attribute gelu_attributes[] = {
    {HU_ATTRIBUTE_FLAG, "tanh", offsetof(hu_gelu_attrs, by_tanh), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

const hu_op hu_op_gelu = {.name = "gelu",
                          .keeps_rows = true,
                          .attrs_bytes = sizeof(hu_gelu_attrs),
                          .attributes = gelu_attributes,
                          .min_in = 1,
                          .max_in = 1,
                          .in_place = true,
                          .shape = same_shape,
                          .saves = HU_SAVE_INPUT_0,
                          .forward = gelu_forward,
                          .backward = gelu_backward};

/* ---- Attributes of scale ---- */

/* x of any shape -> y of the same */
static hu_status scale_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                             hu_shape *out) {
    const hu_scale_attrs *a = attrs;
    (void)n_in;
    *n_out = 1;
    out[0] = in[0];
    if (isfinite(a->factor)) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "scale: factor %g, expected a finite number",
                   (double)a->factor);
}

/* from [count, shape] -> to; both may be one array. */
static void multiply(const hu_op_call *call, const float *from, float *to) {
    const hu_scale_attrs *a = call->info->attrs;
    int64_t n = call->count * hu_shape_elements(&call->info->in[0]);
    for (int64_t i = 0; i < n; i++) to[i] = from[i] * a->factor;
}

static void scale_forward(const hu_op_call *call) {
    multiply(call, call->in[0], call->out[0]);
}

/* dx = dy factor: no input is needed. */
static void scale_backward(const hu_op_call *call) {
    if (call->din[0]) multiply(call, call->dout[0], call->din[0]);
}

static const hu_attribute scale_attributes[] = {
    {HU_ATTRIBUTE_REAL, "factor", offsetof(hu_scale_attrs, factor), NAN, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

const hu_op hu_op_scale = {.name = "scale",
                           .keeps_rows = true,
                           .attrs_bytes = sizeof(hu_scale_attrs),
                           .attributes = scale_attributes,
                           .min_in = 1,
                           .max_in = 1,
                           .is_cheap = true,
                           .in_place = true,
                           .shape = scale_shape,
                           .saves = HU_SAVE_NOTHING,
                           .forward = scale_forward,
                           .backward = scale_backward};
