/* layer_norm: every row of the last extent with mean 0 and variance 1, then scaled and moved per
 * channel (Ba, Kiros and Hinton, 2016). In double from the stored input, two passes, sums in the
 * order of the channels, one rounding per result. The statistics are made again for the gradient.
 */
#include "op/layer_norm.h"

#include <math.h>

#include "base/error.h"
#include "kernel/elementary/elementary.h"
#include "op/expect.h"

enum { WEIGHT, BIAS, PARAMS };

static const hu_attribute layer_attributes[] = {
    {HU_ATTRIBUTE_REAL, "epsilon", offsetof(hu_layer_norm_attrs, epsilon), 1e-5},
    {HU_ATTRIBUTE_END, NULL, 0, 0},
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

/* The kernel's numbers; behind them the sums of both gradients. */
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
