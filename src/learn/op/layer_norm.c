#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "kernel/elementary/elementary.h"
#include "op/attributes.h"

enum { WEIGHT, BIAS, PARAMS };

static const hu_attribute layer_attributes[] = {
    {HU_ATTRIBUTE_REAL, "epsilon", offsetof(hu_layer_norm_attrs, epsilon), 1e-5, 0, INFINITY},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

/* x [.., C] -> y, the same shape */
static hu_status layer_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                             hu_shape *out) {
    const hu_layer_norm_attrs *a = attrs;
    (void)n_in;
    if (!(a->epsilon > 0.0f) || !isfinite(a->epsilon))
        return hu_fail(HU_ERR_ARGUMENT, "layer_norm: epsilon %g, expected a number above 0",
                       (double)a->epsilon);
    *n_out = 1;
    out[0] = in[0];
    return hu_expect_rank_least("layer_norm", in, 1);
}

static hu_status layer_params(const void *attrs, const hu_shape *in, hu_param_decl *list,
                              int *count) {
    const hu_shape shape = {.rank = 1, .extent = {hu_channels(in)}};
    (void)attrs;
    list[WEIGHT] = (hu_param_decl){"weight", shape, {HU_INIT_CONSTANT, 1}, true};
    list[BIAS] = (hu_param_decl){"bias", shape, {HU_INIT_CONSTANT, 0}, true};
    *count = PARAMS;
    return HU_OK;
}

/* The kernel's numbers; after them the sums of both gradients. */
static size_t layer_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    int64_t channels = hu_channels(&info->in[0]), sums = pass == HU_FORWARD ? 0 : PARAMS * channels;
    (void)state;
    return (size_t)(hu_layer_norm_numbers(channels) + sums) * sizeof(double);
}

static int64_t rows_of(const hu_op_call *call) {
    const hu_shape *in = &call->info->in[0];
    return call->count * (hu_shape_elements(in) / hu_channels(in));
}

static hu_layer_norm layer_of(const hu_op_call *call) {
    const hu_layer_norm_attrs *a = call->info->attrs;
    return (hu_layer_norm){.width = hu_channels(&call->info->in[0]),
                           .epsilon = (double)a->epsilon,
                           .weight = call->param[WEIGHT],
                           .bias = call->param[BIAS]};
}

/* x [count, .., C], weight and bias [C] -> y, the shape of x */
static void layer_forward(const hu_op_call *call) {
    const hu_layer_norm layer = layer_of(call);
    hu_elementary()->layer_norm(rows_of(call), &layer, call->in[0], call->scratch, call->out[0]);
}

static void put_sums(const hu_op_call *call, int which, const double *sum) {
    float *to = call->dparam ? call->dparam[which] : NULL;
    for (int64_t c = 0; to && c < hu_channels(&call->info->in[0]); c++)
        to[c] = call->adds_dparam ? to[c] + (float)sum[c] : (float)sum[c];
}

/* dx; dweight = sum of dy xhat, dbias = sum of dy over samples and rows, in their order. */
static void layer_backward(const hu_op_call *call) {
    const hu_layer_norm layer = layer_of(call);
    double *numbers = call->scratch, *sum = numbers + hu_layer_norm_numbers(layer.width);
    for (int64_t i = 0; i < PARAMS * layer.width; i++) sum[i] = 0.0;
    hu_elementary()->layer_norm_backward(rows_of(call), &layer, call->in[0], call->dout[0], numbers,
                                         sum, sum + layer.width, call->din[0]);
    put_sums(call, WEIGHT, sum);
    put_sums(call, BIAS, sum + layer.width);
}

const hu_op hu_op_layer_norm = {.name = "layer_norm",
                                .keeps_rows = true,
                                .attrs_bytes = sizeof(hu_layer_norm_attrs),
                                .attributes = layer_attributes,
                                .min_in = 1,
                                .max_in = 1,
                                .in_place = true,
                                .shape = layer_shape,
                                .params = layer_params,
                                .saves = HU_SAVE_INPUT_0,
                                .scratch_bytes = layer_scratch_bytes,
                                .forward = layer_forward,
                                .backward = layer_backward,
                                .dparam_per_chunk = true};

/* ---- Attributes of l2_norm ---- */

static const hu_attribute l2_attributes[] = {
    {HU_ATTRIBUTE_REAL, "scale", offsetof(hu_l2_norm_attrs, scale), 20, 0, 0},
    {HU_ATTRIBUTE_REAL, "epsilon", offsetof(hu_l2_norm_attrs, epsilon), 1e-10, 0, INFINITY},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
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

/* ---- Attributes of local_norm ---- */

static const hu_attribute local_attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "size", offsetof(hu_local_norm_attrs, size), 5, 1, INFINITY},
    {HU_ATTRIBUTE_REAL, "alpha", offsetof(hu_local_norm_attrs, alpha), 1e-4, 0, 0},
    {HU_ATTRIBUTE_REAL, "beta", offsetof(hu_local_norm_attrs, beta), 0.75, 0, 0},
    {HU_ATTRIBUTE_REAL, "k", offsetof(hu_local_norm_attrs, k), 1, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

/* s stays above 0 where k does and alpha is not negative. */
static hu_status local_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                             hu_shape *out) {
    enum { MOST = 1 << 20 };
    const hu_local_norm_attrs *a = attrs;
    (void)n_in;
    bool is_finite = isfinite(a->alpha) && isfinite(a->beta) && isfinite(a->k);
    if (a->size < 1 || a->size > MOST || a->size % 2 == 0 || !is_finite || a->alpha < 0.0f ||
        !(a->k > 0.0f))
        return hu_fail(HU_ERR_SHAPE,
                       "local_norm: size %" PRId64 ", alpha %g, beta %g, k %g; expected an odd "
                       "size up to %d and finite numbers, alpha >= 0 and k > 0",
                       a->size, (double)a->alpha, (double)a->beta, (double)a->k, MOST);
    *n_out = 1;
    out[0] = in[0];
    return hu_expect_rank_least("local_norm", in, 1);
}

/* A window that reaches beyond all channels is as good as one that reaches over them. */
static hu_local_window window_of(const hu_node_info *info) {
    const hu_local_norm_attrs *a = info->attrs;
    int64_t channels = hu_channels(&info->in[0]), half = a->size / 2;
    return (hu_local_window){.channels = channels,
                             .reach = half < channels ? half : channels - 1,
                             .k = (double)a->k,
                             .share = (double)a->alpha / (double)a->size,
                             .power = (double)a->beta};
}

static size_t local_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    const hu_local_window window = window_of(info);
    (void)state, (void)pass;
    return (size_t)hu_local_numbers(&window) * sizeof(double);
}

/* x [count, .., C] -> y, the same shape */
static void local_forward(const hu_op_call *call) {
    const hu_local_window window = window_of(call->info);
    hu_elementary()->local_norm(places_of(call), &window, call->in[0], call->scratch, call->out[0]);
}

/* dx_c = dy_c s_c^-beta - 2 alpha beta / size x_c sum over the window of dy y / s. */
static void local_backward(const hu_op_call *call) {
    const hu_local_norm_attrs *a = call->info->attrs;
    const hu_local_window window = window_of(call->info);
    double factor = 2.0 * (double)a->alpha * (double)a->beta / (double)a->size;
    if (call->din[0])
        hu_elementary()->local_norm_backward(places_of(call), &window, factor, call->in[0],
                                             call->dout[0], call->scratch, call->din[0]);
}

const hu_op hu_op_local_norm = {.name = "local_norm",
                                .attrs_bytes = sizeof(hu_local_norm_attrs),
                                .attributes = local_attributes,
                                .min_in = 1,
                                .max_in = 1,
                                .shape = local_shape,
                                .saves = HU_SAVE_INPUT_0,
                                .scratch_bytes = local_scratch_bytes,
                                .forward = local_forward,
                                .backward = local_backward};
