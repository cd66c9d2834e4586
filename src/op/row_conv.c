#include "op/row_conv.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "op/expect.h"
#include "op/row_count.h"

enum { LENGTHS = 1 };

static hu_status row_conv_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                hu_shape *out) {
    const hu_row_conv_attrs *a = attrs;
    hu_status st;
    HU_TRY(hu_expect_rank("row_conv", &in[0], 2));
    HU_TRY(hu_expect_row_count("row_conv", LENGTHS, n_in, in));
    if (a->context < 1)
        return hu_fail(HU_ERR_SHAPE, "row_conv: found a context of %lld rows, expected at least 1",
                       (long long)a->context);
    *n_out = 1;
    out[0] = in[0];
done:
    return st;
}

static hu_status row_conv_params(const void *attrs, const hu_shape *in, hu_param_decl *list,
                                 int *count) {
    const hu_row_conv_attrs *a = attrs;
    list[0] = (hu_param_decl){.suffix = "weight",
                              .shape = {.rank = 2, .extent = {a->context, hu_channels(in)}},
                              .init = a->weight_init,
                              .trained = true};
    *count = 1;
    return HU_OK;
}

/* Uniform in +-1 / sqrt(context), as other convolutions begin. */
static void row_conv_usual(void *attrs, const hu_shape *in) {
    hu_row_conv_attrs *a = attrs;
    (void)in;
    a->weight_init = (hu_init){HU_INIT_UNIFORM, 1.0f / sqrtf((float)a->context)};
}

/* Sums [C] of a row, or [context, C] of the weight's gradient. */
static size_t row_conv_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    const hu_row_conv_attrs *a = info->attrs;
    (void)state;
    int64_t rows = pass == HU_FORWARD ? 1 : 1 + a->context;
    return (size_t)(rows * hu_channels(&info->in[0])) * sizeof(double);
}

static int64_t row_conv_macs(const hu_node_info *info) {
    const hu_row_conv_attrs *a = info->attrs;
    return a->context * hu_shape_elements(&info->in[0]);
}

/* to [C] += weight [C] x [C], in double. */
static void add_product(int64_t channels, const float *weight, const float *x, double *to) {
    for (int64_t c = 0; c < channels; c++) to[c] += (double)weight[c] * (double)x[c];
}

static void clear(int64_t channels, double *sum) {
    for (int64_t c = 0; c < channels; c++) sum[c] = 0.0;
}

static void take(int64_t channels, const double *sum, float *to) {
    for (int64_t c = 0; c < channels; c++) to[c] = (float)sum[c];
}

/* Rows of a sample from where it begins in x; those that are not there become 0 in to. */
static void clear_behind(const hu_op_call *call, int64_t there, float *to) {
    const int64_t *extent = call->info->in[0].extent;
    memset(to + there * extent[1], 0, (size_t)((extent[0] - there) * extent[1]) * sizeof *to);
}

/* x [count, T, C], weight [context, C] -> y, the shape of x */
static void row_conv_forward(const hu_op_call *call) {
    const hu_row_conv_attrs *a = call->info->attrs;
    int64_t channels = hu_channels(&call->info->in[0]);
    int64_t numbers = hu_shape_elements(&call->info->in[0]);
    double *sum = call->scratch;
    for (int64_t s = 0; s < call->count; s++) {
        const float *x = call->in[0] + s * numbers;
        float *y = call->out[0] + s * numbers;
        int64_t there = hu_row_count(call, LENGTHS, s);
        for (int64_t t = 0; t < there; t++) {
            clear(channels, sum);
            for (int64_t k = 0; k < a->context && t + k < there; k++)
                add_product(channels, call->param[0] + k * channels, x + (t + k) * channels, sum);
            take(channels, sum, y + t * channels);
        }
        clear_behind(call, there, y);
    }
}

/* dx_s = sum over k of w_k dy_(s-k), of one sample. */
static void input_gradient(const hu_op_call *call, int64_t there, const float *dy, float *dx) {
    const hu_row_conv_attrs *a = call->info->attrs;
    int64_t channels = hu_channels(&call->info->in[0]);
    double *sum = call->scratch;
    for (int64_t t = 0; t < there; t++) {
        clear(channels, sum);
        for (int64_t k = 0; k < a->context && k <= t; k++)
            add_product(channels, call->param[0] + k * channels, dy + (t - k) * channels, sum);
        take(channels, sum, dx + t * channels);
    }
    clear_behind(call, there, dx);
}

/* dw_k += sum over the rows of a sample of dy_t x_(t+k). */
static void add_weight_gradient(const hu_op_call *call, int64_t there, const float *x,
                                const float *dy, double *sum) {
    const hu_row_conv_attrs *a = call->info->attrs;
    int64_t channels = hu_channels(&call->info->in[0]);
    for (int64_t k = 0; k < a->context; k++)
        for (int64_t t = 0; t + k < there; t++)
            add_product(channels, dy + t * channels, x + (t + k) * channels, sum + k * channels);
}

/* dparam is the sum of a chunk, in the order of the samples and rows. */
static void row_conv_backward(const hu_op_call *call) {
    const hu_row_conv_attrs *a = call->info->attrs;
    int64_t channels = hu_channels(&call->info->in[0]);
    int64_t numbers = hu_shape_elements(&call->info->in[0]);
    double *sum = (double *)call->scratch + channels;
    float *to = call->dparam ? call->dparam[0] : NULL;
    clear(a->context * channels, sum);
    for (int64_t s = 0; s < call->count; s++) {
        const float *x = call->in[0] + s * numbers, *dy = call->dout[0] + s * numbers;
        int64_t there = hu_row_count(call, LENGTHS, s);
        if (to) add_weight_gradient(call, there, x, dy, sum);
        if (call->din[0]) input_gradient(call, there, dy, call->din[0] + s * numbers);
    }
    for (int64_t i = 0; i < a->context * channels && to; i++)
        to[i] = call->adds_dparam ? to[i] + (float)sum[i] : (float)sum[i];
    if (call->info->n_in > LENGTHS && call->din[LENGTHS])
        memset(call->din[LENGTHS], 0, (size_t)call->count * sizeof(float));
}

static const hu_attribute row_conv_attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "context", offsetof(hu_row_conv_attrs, context), NAN},
    {HU_ATTRIBUTE_END, NULL, 0, 0},
};

const hu_op hu_op_row_conv = {.name = "row_conv",
                              .attrs_bytes = sizeof(hu_row_conv_attrs),
                              .attributes = row_conv_attributes,
                              .min_in = 1,
                              .max_in = 2,
                              .ends_by = 1,
                              .usual = row_conv_usual,
                              .shape = row_conv_shape,
                              .params = row_conv_params,
                              .saves = HU_SAVE_INPUT_0 | HU_SAVE_INPUT_1,
                              .scratch_bytes = row_conv_scratch_bytes,
                              .macs = row_conv_macs,
                              .forward = row_conv_forward,
                              .backward = row_conv_backward,
                              .dparam_per_chunk = true};
