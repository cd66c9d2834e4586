/* l2_norm: the channels of every place as a vector of a learned length (Liu et al. 2015,
 * "ParseNet"). In double from the stored input, sums in the order of the channels, one rounding per
 * result: in half precision the sum of squares would overflow. */
#include "op/l2_norm.h"

#include <math.h>

#include "base/error.h"
#include "op/expect.h"

static const hu_attribute l2_attributes[] = {
    {HU_ATTRIBUTE_REAL, "scale", offsetof(hu_l2_norm_attrs, scale), 20},
    {HU_ATTRIBUTE_REAL, "epsilon", offsetof(hu_l2_norm_attrs, epsilon), 1e-10},
    {HU_ATTRIBUTE_END, NULL, 0, 0},
};

static hu_status l2_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                          hu_shape *out) {
    const hu_l2_norm_attrs *a = attrs;
    (void)n_in;
    if (!(a->epsilon > 0.0f) || !isfinite(a->epsilon))
        return hu_fail(HU_ERR_SHAPE, "l2_norm: epsilon %g, expected a number above 0",
                       (double)a->epsilon);
    *n_out = 1;
    out[0] = in[0];
    return hu_expect_rank_least("l2_norm", in, 1);
}

static hu_status l2_params(const void *attrs, const hu_shape *in, hu_param_decl *list, int *count) {
    const hu_l2_norm_attrs *a = attrs;
    list[0] = (hu_param_decl){.suffix = "weight",
                              .shape = {.rank = 1, .extent = {hu_channels(in)}},
                              .init = {HU_INIT_CONSTANT, a->scale},
                              .trained = true};
    *count = 1;
    return HU_OK;
}

/* The sums of the weight's gradient. */
static size_t l2_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)state;
    return pass == HU_FORWARD ? 0 : (size_t)hu_channels(&info->in[0]) * sizeof(double);
}

static int64_t places_of(const hu_op_call *call) {
    const hu_shape *in = &call->info->in[0];
    return call->count * (hu_shape_elements(in) / hu_channels(in));
}

static double length_of(const hu_op_call *call, const float *x) {
    const hu_l2_norm_attrs *a = call->info->attrs;
    int64_t channels = hu_channels(&call->info->in[0]);
    double sum = 0.0;
    for (int64_t c = 0; c < channels; c++) sum += (double)x[c] * (double)x[c];
    return sqrt(sum + (double)a->epsilon);
}

/* x [count, .., C], weight [C] -> y, the shape of x */
static void l2_forward(const hu_op_call *call) {
    int64_t channels = hu_channels(&call->info->in[0]);
    const float *x = call->in[0], *weight = call->param[0];
    float *y = call->out[0];
    for (int64_t p = places_of(call); p > 0; p--, x += channels, y += channels) {
        double length = length_of(call, x);
        for (int64_t c = 0; c < channels; c++)
            y[c] = (float)((double)weight[c] * (double)x[c] / length);
    }
}

/* dx_c = (weight_c dy_c - x_c (sum of weight dy x) / n^2) / n: of one place. */
static void place_gradient(int64_t channels, const float *weight, const float *x, const float *dy,
                           double length, float *dx) {
    double along = 0.0;
    for (int64_t c = 0; c < channels; c++)
        along += (double)weight[c] * (double)dy[c] * (double)x[c];
    for (int64_t c = 0; c < channels; c++)
        dx[c] =
            (float)(((double)weight[c] * (double)dy[c] - (double)x[c] * along / (length * length)) /
                    length);
}

/* dweight_c = sum over samples and places of dy_c x_c / n, in their order. */
static void l2_backward(const hu_op_call *call) {
    int64_t channels = hu_channels(&call->info->in[0]);
    const float *x = call->in[0], *dy = call->dout[0];
    float *dx = call->din[0], *to = call->dparam ? call->dparam[0] : NULL;
    double *sum = call->scratch;
    for (int64_t c = 0; c < channels; c++) sum[c] = 0.0;
    for (int64_t p = places_of(call); p > 0; p--, x += channels, dy += channels) {
        double length = length_of(call, x);
        for (int64_t c = 0; c < channels; c++) sum[c] += (double)dy[c] * (double)x[c] / length;
        if (dx) place_gradient(channels, call->param[0], x, dy, length, dx);
        if (dx) dx += channels;
    }
    for (int64_t c = 0; c < channels && to; c++)
        to[c] = call->adds_dparam ? to[c] + (float)sum[c] : (float)sum[c];
}

const hu_op hu_op_l2_norm = {.name = "l2_norm",
                             .keeps_rows = true,
                             .attrs_bytes = sizeof(hu_l2_norm_attrs),
                             .attributes = l2_attributes,
                             .min_in = 1,
                             .max_in = 1,
                             .shape = l2_shape,
                             .params = l2_params,
                             .saves = HU_SAVE_INPUT_0,
                             .scratch_bytes = l2_scratch_bytes,
                             .forward = l2_forward,
                             .backward = l2_backward,
                             .dparam_per_chunk = true};
