#include <math.h>
#include <string.h>

#include "base/error.h"
#include "op/internal.h"

/* ---- row count ---- */

/* Sequences that are shorter than there is room for: how many rows of a sample are
 * present. */

hu_status hu_expect_row_count(const char *op, int which, int n_in, const hu_shape *in) {
    if (which >= n_in || (hu_shape_elements(&in[which]) == 1 && in[0].rank >= 2)) return HU_OK;
    return hu_fail(HU_ERR_SHAPE,
                   "%s: found %lld numbers beside an input of rank %d, expected the number of rows "
                   "of a sequence",
                   op, (long long)hu_shape_elements(&in[which]), in[0].rank);
}

hu_status hu_expect_lengths(const char *op, int which, int n_in, const hu_shape *in) {
    if (which >= n_in || hu_shape_elements(&in[which]) == 1) return HU_OK;
    return hu_fail(HU_ERR_SHAPE, "%s: the lengths have %lld elements, expected 1", op,
                   (long long)hu_shape_elements(&in[which]));
}

/* ---- length ---- */

/* Attributes of length: how many rows of a sequence are left after a layer. */

static hu_status length_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                              hu_shape *out) {
    const hu_length_attrs *a = attrs;
    (void)n_in;
    if (a->stride < 1 || (!a->leading && hu_shape_elements(&in[0]) != 1))
        return hu_fail(HU_ERR_SHAPE,
                       "length: found %lld numbers of a sample and a stride of %lld, expected one "
                       "number and a stride of at least 1",
                       (long long)hu_shape_elements(&in[0]), (long long)a->stride);
    *n_out = 1;
    out[0] = a->leading ? (hu_shape){1, {1}} : in[0];
    return HU_OK;
}

static int64_t leading(int64_t count, const float *x) {
    int64_t n = 0;
    while (n < count && x[n] >= 0.0f) n++;
    return n;
}

/* Whole numbers below 2^24 stay exact. */
static void length_forward(const hu_op_call *call) {
    const hu_length_attrs *a = call->info->attrs;
    int64_t n = hu_shape_elements(&call->info->in[0]);
    for (int64_t s = 0; s < call->count; s++) {
        const float *x = call->in[0] + s * n;
        double rows = a->leading ? (double)leading(n, x) : (double)*x;
        call->out[0][s] = (float)ceil(rows / (double)a->stride);
    }
}

static const hu_attribute length_attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "stride", offsetof(hu_length_attrs, stride), 1, 1, INFINITY},
    {HU_ATTRIBUTE_FLAG, "leading", offsetof(hu_length_attrs, leading), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

const hu_op hu_op_length = {.name = "length",
                            .attrs_bytes = sizeof(hu_length_attrs),
                            .attributes = length_attributes,
                            .min_in = 1,
                            .max_in = 1,
                            .makes_facts = true,
                            .shape = length_shape,
                            .forward = length_forward};

/* ---- rows ---- */

/* Rows of sequences with lengths: reverse and last_row. Lengths are read as loops read them
 * (graph/graph.h); without them all rows count. */

/* Numbers of one row of in[0]. */
static int64_t row_elements(const hu_op_call *call) {
    const hu_shape *in = &call->info->in[0];
    return hu_shape_elements(in) / in->extent[0];
}

/* ---- reverse: x [rows, ..], lengths -> y_t = x_(length-1-t), +0 after the length ---- */

static hu_status reverse_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                               hu_shape *out) {
    (void)attrs;
    hu_status st = hu_expect_rank_least("reverse", in, 1);
    *n_out = 1;
    out[0] = in[0];
    return st == HU_OK ? hu_expect_lengths("reverse", 1, n_in, in) : st;
}

static void turn_round(const hu_op_call *call, const float *from, float *to) {
    int64_t rows = call->info->in[0].extent[0], n = row_elements(call);
    for (int64_t s = 0; s < call->count; s++, from += rows * n, to += rows * n) {
        int64_t length = hu_row_count(call, 1, s);
        for (int64_t t = 0; t < length; t++)
            memcpy(to + t * n, from + (length - 1 - t) * n, (size_t)n * sizeof *to);
        memset(to + length * n, 0, (size_t)((rows - length) * n) * sizeof *to);
    }
}

static void reverse_forward(const hu_op_call *call) {
    turn_round(call, call->in[0], call->out[0]);
}

static void reverse_backward(const hu_op_call *call) {
    if (call->din[0]) turn_round(call, call->dout[0], call->din[0]);
}

const hu_op hu_op_reverse = {.name = "reverse",
                             .min_in = 1,
                             .max_in = 2,
                             .ends_by = 1,
                             .selects_input = true,
                             .selects_gradient = true,
                             .shape = reverse_shape,
                             .saves = HU_SAVE_INPUT_1,
                             .forward = reverse_forward,
                             .backward = reverse_backward};

/* ---- last_row: x [rows, ..], start [..], lengths -> the row at the length, start where there is
 * none ---- */

enum { ROWS, START, LENGTHS };

static hu_status last_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                            hu_shape *out) {
    (void)attrs;
    hu_status st;
    hu_shape row = in[ROWS];
    HU_TRY(hu_expect_rank_least("last_row", in, 1));
    row.rank--;
    for (int i = 0; i < row.rank; i++) row.extent[i] = in[ROWS].extent[i + 1];
    *n_out = 1;
    out[0] = row;
    HU_TRY(hu_expect_same("last_row", 2, (hu_shape[]){row, in[START]}));
    st = hu_expect_lengths("last_row", LENGTHS, n_in, in);
done:
    return st;
}

static int64_t last_of(const hu_op_call *call, int64_t sample) {
    return hu_row_count(call, LENGTHS, sample) - 1;
}

static void last_forward(const hu_op_call *call) {
    int64_t rows = call->info->in[ROWS].extent[0], n = row_elements(call);
    for (int64_t s = 0; s < call->count; s++) {
        int64_t last = last_of(call, s);
        const float *from =
            last < 0 ? call->in[START] + s * n : call->in[ROWS] + (s * rows + last) * n;
        memcpy(call->out[0] + s * n, from, (size_t)n * sizeof *from);
    }
}

static void last_backward(const hu_op_call *call) {
    int64_t rows = call->info->in[ROWS].extent[0], n = row_elements(call);
    size_t bytes = (size_t)n * sizeof(float);
    for (int64_t s = 0; s < call->count; s++) {
        int64_t last = last_of(call, s);
        const float *dy = call->dout[0] + s * n;
        float *dx = call->din[ROWS] ? call->din[ROWS] + s * rows * n : NULL;
        float *start = call->din[START] ? call->din[START] + s * n : NULL;
        if (dx) memset(dx, 0, (size_t)rows * bytes);
        if (dx && last >= 0) memcpy(dx + last * n, dy, bytes);
        if (start) memset(start, 0, bytes);
        if (start && last < 0) memcpy(start, dy, bytes);
    }
}

const hu_op hu_op_last_row = {.name = "last_row",
                              .min_in = 2,
                              .max_in = 3,
                              .shape = last_shape,
                              .saves = HU_SAVE_INPUT_1 << 1,
                              .selects_gradient = true,
                              .forward = last_forward,
                              .backward = last_backward};

/* ---- Attributes of row_conv ---- */

enum { ROW_CONV_LENGTHS = 1 };

static hu_status row_conv_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                hu_shape *out) {
    const hu_row_conv_attrs *a = attrs;
    hu_status st;
    HU_TRY(hu_expect_rank("row_conv", &in[0], 2));
    HU_TRY(hu_expect_row_count("row_conv", ROW_CONV_LENGTHS, n_in, in));
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

/* Rows of a sample from where it begins in x; those that are missing become 0 in to. */
static void clear_behind(const hu_op_call *call, int64_t valid, float *to) {
    const int64_t *extent = call->info->in[0].extent;
    memset(to + valid * extent[1], 0, (size_t)((extent[0] - valid) * extent[1]) * sizeof *to);
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
        int64_t valid = hu_row_count(call, ROW_CONV_LENGTHS, s);
        for (int64_t t = 0; t < valid; t++) {
            clear(channels, sum);
            for (int64_t k = 0; k < a->context && t + k < valid; k++)
                add_product(channels, call->param[0] + k * channels, x + (t + k) * channels, sum);
            take(channels, sum, y + t * channels);
        }
        clear_behind(call, valid, y);
    }
}

/* dx_s = sum over k of w_k dy_(s-k), of one sample. */
static void input_gradient(const hu_op_call *call, int64_t valid, const float *dy, float *dx) {
    const hu_row_conv_attrs *a = call->info->attrs;
    int64_t channels = hu_channels(&call->info->in[0]);
    double *sum = call->scratch;
    for (int64_t t = 0; t < valid; t++) {
        clear(channels, sum);
        for (int64_t k = 0; k < a->context && k <= t; k++)
            add_product(channels, call->param[0] + k * channels, dy + (t - k) * channels, sum);
        take(channels, sum, dx + t * channels);
    }
    clear_behind(call, valid, dx);
}

/* dw_k += sum over the rows of a sample of dy_t x_(t+k). */
static void add_weight_gradient(const hu_op_call *call, int64_t valid, const float *x,
                                const float *dy, double *sum) {
    const hu_row_conv_attrs *a = call->info->attrs;
    int64_t channels = hu_channels(&call->info->in[0]);
    for (int64_t k = 0; k < a->context; k++)
        for (int64_t t = 0; t + k < valid; t++)
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
        int64_t valid = hu_row_count(call, ROW_CONV_LENGTHS, s);
        if (to) add_weight_gradient(call, valid, x, dy, sum);
        if (call->din[0]) input_gradient(call, valid, dy, call->din[0] + s * numbers);
    }
    for (int64_t i = 0; i < a->context * channels && to; i++)
        to[i] = call->adds_dparam ? to[i] + (float)sum[i] : (float)sum[i];
    if (call->info->n_in > ROW_CONV_LENGTHS && call->din[ROW_CONV_LENGTHS])
        memset(call->din[ROW_CONV_LENGTHS], 0, (size_t)call->count * sizeof(float));
}

static const hu_attribute row_conv_attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "context", offsetof(hu_row_conv_attrs, context), NAN, 1, INFINITY},
    {HU_ATTRIBUTE_INIT, "init", offsetof(hu_row_conv_attrs, weight_init), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
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
