#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "op/internal.h"

/* group_norm and instance_norm: each sample by itself, over its places and the channels of a group;
 * rms_norm: each row by itself. Statistics are computed in double, and again in the backward pass.
 */

enum { WEIGHT, BIAS, PARAMS };

/* A sample [places, channels], and what its channels are normed in. */
typedef struct layout {
    int64_t places, channels, groups;
    double epsilon;
    const float *weight, *bias; /* [channels], NULL: none */
} layout;

static layout layout_of(const hu_op_call *call, int64_t groups, float epsilon) {
    const hu_shape *in = &call->info->in[0];
    bool has_params = call->info->n_params > 0;
    return (layout){.places = hu_shape_elements(in) / hu_channels(in),
                    .channels = hu_channels(in),
                    .groups = groups,
                    .epsilon = (double)epsilon,
                    .weight = has_params ? call->param[WEIGHT] : NULL,
                    .bias = has_params ? call->param[BIAS] : NULL};
}

static hu_status expect_epsilon(const char *op, float epsilon) {
    if (epsilon > 0.0f && isfinite(epsilon)) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "%s: epsilon %g, expected a number above 0", op,
                   (double)epsilon);
}

static void declare(bool affine, const hu_shape *in, hu_param_decl *list, int *count) {
    const hu_shape shape = {.rank = 1, .extent = {hu_channels(in)}};
    list[WEIGHT] = (hu_param_decl){"weight", shape, {HU_INIT_CONSTANT, 1}, true};
    list[BIAS] = (hu_param_decl){"bias", shape, {HU_INIT_CONSTANT, 0}, true};
    *count = affine ? PARAMS : 0;
}

/* ---- statistics of a sample ---- */

/* Numbers [channels] each; those of a group are alike. */
typedef struct statistics {
    double *mean, *inverse;   /* of x, and 1 / sqrt(variance + epsilon) */
    double *slope, *product;  /* backward: the means of g and of g xhat, g = dy weight */
    double *dweight, *dbias;  /* backward: sums of dy xhat and of dy, over the samples of a chunk */
    double *part, *part_also; /* sums of one sample */
} statistics;

enum { FORWARD_VECTORS = 3, BACKWARD_VECTORS = 8 };

static statistics statistics_at(double *scratch, int64_t channels) {
    return (statistics){.mean = scratch,
                        .inverse = scratch + channels,
                        .part = scratch + 2 * channels,
                        .part_also = scratch + 3 * channels,
                        .slope = scratch + 4 * channels,
                        .product = scratch + 5 * channels,
                        .dweight = scratch + 6 * channels,
                        .dbias = scratch + 7 * channels};
}

static size_t group_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)state;
    int64_t vectors = pass == HU_FORWARD ? FORWARD_VECTORS : BACKWARD_VECTORS;
    return (size_t)(vectors * hu_channels(&info->in[0])) * sizeof(double);
}

/* Sums over the places become the mean over a group, for each of its channels: channels in order.
 */
static void mean_of_groups(const layout *l, const double *part, double *mean) {
    int64_t width = l->channels / l->groups;
    for (int64_t g = 0; g < l->groups; g++, part += width, mean += width) {
        double sum = 0.0;
        for (int64_t c = 0; c < width; c++) sum += part[c];
        for (int64_t c = 0; c < width; c++) mean[c] = sum / (double)(l->places * width);
    }
}

/* mean and inverse of x [places, channels]; the variance is that around the mean (two passes). */
static void moments(const layout *l, const float *x, const statistics *s) {
    memset(s->part, 0, (size_t)l->channels * sizeof *s->part);
    for (int64_t p = 0; p < l->places; p++)
        for (int64_t c = 0; c < l->channels; c++) s->part[c] += (double)x[p * l->channels + c];
    mean_of_groups(l, s->part, s->mean);
    memset(s->part, 0, (size_t)l->channels * sizeof *s->part);
    for (int64_t p = 0; p < l->places; p++)
        for (int64_t c = 0; c < l->channels; c++) {
            double centred = (double)x[p * l->channels + c] - s->mean[c];
            s->part[c] += centred * centred;
        }
    mean_of_groups(l, s->part, s->inverse);
    for (int64_t c = 0; c < l->channels; c++)
        s->inverse[c] = 1.0 / sqrt(s->inverse[c] + l->epsilon);
}

static double weight_of(const layout *l, int64_t c) {
    return l->weight ? (double)l->weight[c] : 1.0;
}

/* Sums of one sample, which the gradients of the parameters take up; and the means of its slopes.
 */
static void slopes(const layout *l, const float *x, const float *dy, const statistics *s) {
    size_t bytes = (size_t)l->channels * sizeof *s->part;
    memset(s->part, 0, bytes);
    memset(s->part_also, 0, bytes);
    for (int64_t p = 0; p < l->places; p++)
        for (int64_t c = 0; c < l->channels; c++) {
            double up = (double)dy[p * l->channels + c];
            s->part[c] += up;
            s->part_also[c] += up * (((double)x[p * l->channels + c] - s->mean[c]) * s->inverse[c]);
        }
    for (int64_t c = 0; c < l->channels; c++) {
        s->dbias[c] += s->part[c];
        s->dweight[c] += s->part_also[c];
        s->part[c] *= weight_of(l, c);
        s->part_also[c] *= weight_of(l, c);
    }
    mean_of_groups(l, s->part, s->slope);
    mean_of_groups(l, s->part_also, s->product);
}

/* ---- what both norms do ---- */

/* y = weight xhat + bias */
static void norm_sample(const layout *l, const statistics *s, const float *x, float *y) {
    for (int64_t p = 0; p < l->places; p++, x += l->channels, y += l->channels) {
        for (int64_t c = 0; c < l->channels && !l->weight; c++)
            y[c] = (float)(((double)x[c] - s->mean[c]) * s->inverse[c]);
        for (int64_t c = 0; c < l->channels && l->weight; c++)
            y[c] = (float)((double)l->weight[c] * (((double)x[c] - s->mean[c]) * s->inverse[c]) +
                           (double)l->bias[c]);
    }
}

/* dx = ((g - mean(g)) - xhat mean(g xhat)) / sqrt(variance + epsilon), g = dy weight */
static void slope_sample(const layout *l, const statistics *s, const float *x, const float *dy,
                         float *dx) {
    for (int64_t p = 0; p < l->places; p++, x += l->channels, dy += l->channels, dx += l->channels)
        for (int64_t c = 0; c < l->channels; c++) {
            double xhat = ((double)x[c] - s->mean[c]) * s->inverse[c];
            double g = (double)dy[c] * weight_of(l, c);
            dx[c] = (float)(s->inverse[c] * ((g - s->slope[c]) - xhat * s->product[c]));
        }
}

/* x [count, places, channels] -> y */
static void norm_forward(const hu_op_call *call, const layout *l) {
    const statistics s = statistics_at(call->scratch, l->channels);
    int64_t elements = l->places * l->channels;
    for (int64_t n = 0; n < call->count; n++) {
        moments(l, call->in[0] + n * elements, &s);
        norm_sample(l, &s, call->in[0] + n * elements, call->out[0] + n * elements);
    }
}

static void put_sums(const hu_op_call *call, int which, int64_t channels, const double *sum) {
    float *to = call->dparam && call->info->n_params > which ? call->dparam[which] : NULL;
    for (int64_t c = 0; to && c < channels; c++)
        to[c] = call->adds_dparam ? to[c] + (float)sum[c] : (float)sum[c];
}

/* dx; dweight and dbias are sums over the places of a sample, then over the samples. */
static void norm_backward(const hu_op_call *call, const layout *l) {
    const statistics s = statistics_at(call->scratch, l->channels);
    int64_t elements = l->places * l->channels;
    for (int64_t c = 0; c < l->channels; c++) s.dweight[c] = s.dbias[c] = 0.0;
    for (int64_t n = 0; n < call->count; n++) {
        const float *x = call->in[0] + n * elements, *dy = call->dout[0] + n * elements;
        moments(l, x, &s);
        slopes(l, x, dy, &s);
        if (call->din[0]) slope_sample(l, &s, x, dy, call->din[0] + n * elements);
    }
    put_sums(call, WEIGHT, l->channels, s.dweight);
    put_sums(call, BIAS, l->channels, s.dbias);
}

/* ---- group_norm ---- */

static const hu_attribute group_attributes[] = {
    {HU_ATTRIBUTE_WHOLE, "groups", offsetof(hu_group_norm_attrs, groups), NAN, 1, INFINITY},
    {HU_ATTRIBUTE_REAL, "epsilon", offsetof(hu_group_norm_attrs, epsilon), 1e-5, 0, INFINITY},
    {HU_ATTRIBUTE_FLAG, "affine", offsetof(hu_group_norm_attrs, affine), 1, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

/* x [.., C] -> y, the same shape */
static hu_status group_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                             hu_shape *out) {
    const hu_group_norm_attrs *a = attrs;
    hu_status st;
    (void)n_in;
    HU_TRY(expect_epsilon("group_norm", a->epsilon));
    HU_TRY(hu_expect_rank_least("group_norm", in, 1));
    if (a->groups < 1 || hu_channels(in) % a->groups != 0)
        return hu_fail(HU_ERR_SHAPE,
                       "group_norm: %" PRId64 " groups for %" PRId64
                       " channels, expected a divisor of them",
                       a->groups, hu_channels(in));
    *n_out = 1;
    out[0] = in[0];
done:
    return st;
}

static hu_status group_params(const void *attrs, const hu_shape *in, hu_param_decl *list,
                              int *count) {
    declare(((const hu_group_norm_attrs *)attrs)->affine, in, list, count);
    return HU_OK;
}

static void group_forward(const hu_op_call *call) {
    const hu_group_norm_attrs *a = call->info->attrs;
    const layout l = layout_of(call, a->groups, a->epsilon);
    norm_forward(call, &l);
}

static void group_backward(const hu_op_call *call) {
    const hu_group_norm_attrs *a = call->info->attrs;
    const layout l = layout_of(call, a->groups, a->epsilon);
    norm_backward(call, &l);
}

const hu_op hu_op_group_norm = {.name = "group_norm",
                                .attrs_bytes = sizeof(hu_group_norm_attrs),
                                .attributes = group_attributes,
                                .min_in = 1,
                                .max_in = 1,
                                .in_place = true,
                                .shape = group_shape,
                                .params = group_params,
                                .saves = HU_SAVE_INPUT_0,
                                .scratch_bytes = group_scratch_bytes,
                                .forward = group_forward,
                                .backward = group_backward,
                                .dparam_per_chunk = true};

/* ---- instance_norm: as many groups as channels ---- */

static const hu_attribute instance_attributes[] = {
    {HU_ATTRIBUTE_REAL, "epsilon", offsetof(hu_instance_norm_attrs, epsilon), 1e-5, 0, INFINITY},
    {HU_ATTRIBUTE_FLAG, "affine", offsetof(hu_instance_norm_attrs, affine), 1, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

/* x [.., C] -> y, the same shape; a channel of one place would be 0. */
static hu_status instance_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                hu_shape *out) {
    const hu_instance_norm_attrs *a = attrs;
    (void)n_in;
    hu_status st = expect_epsilon("instance_norm", a->epsilon);
    if (st != HU_OK) return st;
    *n_out = 1;
    out[0] = in[0];
    return hu_expect_rank_least("instance_norm", in, 2);
}

static hu_status instance_params(const void *attrs, const hu_shape *in, hu_param_decl *list,
                                 int *count) {
    declare(((const hu_instance_norm_attrs *)attrs)->affine, in, list, count);
    return HU_OK;
}

static layout instance_of(const hu_op_call *call) {
    const hu_instance_norm_attrs *a = call->info->attrs;
    return layout_of(call, hu_channels(&call->info->in[0]), a->epsilon);
}

static void instance_forward(const hu_op_call *call) {
    const layout l = instance_of(call);
    norm_forward(call, &l);
}

static void instance_backward(const hu_op_call *call) {
    const layout l = instance_of(call);
    norm_backward(call, &l);
}

const hu_op hu_op_instance_norm = {.name = "instance_norm",
                                   .attrs_bytes = sizeof(hu_instance_norm_attrs),
                                   .attributes = instance_attributes,
                                   .min_in = 1,
                                   .max_in = 1,
                                   .in_place = true,
                                   .shape = instance_shape,
                                   .params = instance_params,
                                   .saves = HU_SAVE_INPUT_0,
                                   .scratch_bytes = group_scratch_bytes,
                                   .forward = instance_forward,
                                   .backward = instance_backward,
                                   .dparam_per_chunk = true};

/* ---- rms_norm ---- */

/* Rows whose sums go side by side, each in the order of its numbers. */
enum { ROWS = 4 };

static const hu_attribute rms_attributes[] = {
    {HU_ATTRIBUTE_REAL, "epsilon", offsetof(hu_rms_norm_attrs, epsilon), 1e-6, 0, INFINITY},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

/* x [.., C] -> y, the same shape */
static hu_status rms_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                           hu_shape *out) {
    const hu_rms_norm_attrs *a = attrs;
    (void)n_in;
    hu_status st = expect_epsilon("rms_norm", a->epsilon);
    if (st != HU_OK) return st;
    *n_out = 1;
    out[0] = in[0];
    return hu_expect_rank_least("rms_norm", in, 1);
}

static hu_status rms_params(const void *attrs, const hu_shape *in, hu_param_decl *list,
                            int *count) {
    int both;
    (void)attrs;
    declare(true, in, list, &both);
    *count = 1;
    return HU_OK;
}

static size_t rms_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)state;
    return pass == HU_FORWARD ? 0 : (size_t)hu_channels(&info->in[0]) * sizeof(double);
}

static int64_t rows_of(const hu_op_call *call) {
    const hu_shape *in = &call->info->in[0];
    return call->count * (hu_shape_elements(in) / hu_channels(in));
}

/* 1 / sqrt(mean of x^2 + epsilon) of n rows of x [rows, channels]. */
static void inverses(const hu_op_call *call, int64_t n, const float *x, double inverse[ROWS]) {
    const hu_rms_norm_attrs *a = call->info->attrs;
    int64_t channels = hu_channels(&call->info->in[0]);
    double sum[ROWS] = {0};
    for (int64_t c = 0; c < channels; c++)
        for (int64_t r = 0; r < ROWS; r++) {
            double one = (double)x[(r < n ? r : 0) * channels + c];
            sum[r] += one * one;
        }
    for (int64_t r = 0; r < n; r++)
        inverse[r] = 1.0 / sqrt(sum[r] / (double)channels + (double)a->epsilon);
}

/* y = weight (x s) */
static void rms_forward(const hu_op_call *call) {
    int64_t channels = hu_channels(&call->info->in[0]), rows = rows_of(call);
    const float *weight = call->param[WEIGHT];
    for (int64_t first = 0; first < rows; first += ROWS) {
        int64_t n = rows - first < ROWS ? rows - first : ROWS;
        double inverse[ROWS];
        inverses(call, n, call->in[0] + first * channels, inverse);
        for (int64_t r = 0; r < n; r++) {
            const float *x = call->in[0] + (first + r) * channels;
            float *y = call->out[0] + (first + r) * channels;
            for (int64_t c = 0; c < channels; c++)
                y[c] = (float)((double)weight[c] * ((double)x[c] * inverse[r]));
        }
    }
}

/* Means over n rows of g (x s), g = dy weight. */
static void products(const hu_op_call *call, int64_t n, const float *x, const float *dy,
                     const double *inverse, double mean[ROWS]) {
    int64_t channels = hu_channels(&call->info->in[0]);
    double sum[ROWS] = {0};
    for (int64_t c = 0; c < channels; c++)
        for (int64_t r = 0; r < n; r++) {
            int64_t at = r * channels + c;
            double g = (double)dy[at] * (double)call->param[WEIGHT][c];
            sum[r] += g * ((double)x[at] * inverse[r]);
        }
    for (int64_t r = 0; r < n; r++) mean[r] = sum[r] / (double)channels;
}

/* dx = s (g - (x s) mean(g (x s))); dweight = sum of dy (x s) over the rows, in their order. */
static void rms_backward(const hu_op_call *call) {
    int64_t channels = hu_channels(&call->info->in[0]), rows = rows_of(call);
    double *sum = call->scratch;
    for (int64_t c = 0; c < channels; c++) sum[c] = 0.0;
    for (int64_t first = 0; first < rows; first += ROWS) {
        int64_t n = rows - first < ROWS ? rows - first : ROWS, at = first * channels;
        double inverse[ROWS], mean[ROWS];
        inverses(call, n, call->in[0] + at, inverse);
        products(call, n, call->in[0] + at, call->dout[0] + at, inverse, mean);
        for (int64_t r = 0; r < n; r++, at += channels)
            for (int64_t c = 0; c < channels; c++) {
                double xhat = (double)call->in[0][at + c] * inverse[r];
                double up = (double)call->dout[0][at + c];
                double g = up * (double)call->param[WEIGHT][c];
                sum[c] += up * xhat;
                if (call->din[0]) call->din[0][at + c] = (float)(inverse[r] * (g - xhat * mean[r]));
            }
    }
    put_sums(call, WEIGHT, channels, sum);
}

const hu_op hu_op_rms_norm = {.name = "rms_norm",
                              .keeps_rows = true,
                              .attrs_bytes = sizeof(hu_rms_norm_attrs),
                              .attributes = rms_attributes,
                              .min_in = 1,
                              .max_in = 1,
                              .in_place = true,
                              .shape = rms_shape,
                              .params = rms_params,
                              .saves = HU_SAVE_INPUT_0,
                              .scratch_bytes = rms_scratch_bytes,
                              .forward = rms_forward,
                              .backward = rms_backward,
                              .dparam_per_chunk = true};
