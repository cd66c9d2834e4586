/* Range batch normalisation over batch and pixels, per channel: the spread of the values is judged
 * by how far apart the largest and the smallest lie, which needs no squares.
 *
 * The n values of a channel, in the order of samples and pixels, are cut into 16 groups of
 * consecutive values: value i is in group floor(16 i / n). R is the mean of the groups' largest
 * values less the mean of their smallest ones, and y = gamma (x - mean) / (kappa R + epsilon) +
 * beta. Eval mode uses running means of the mean and of 1 / (kappa R + epsilon).
 *
 * A group of fewer than two values says nothing of the spread: where n < 32 there are floor(n / 2)
 * groups, at least one; kappa takes groups of one value as if they had two.
 *
 * The gradient goes through the mean, the maxima and the minima: the first value of a group that is
 * its largest, or smallest, has 1/16 of the gradient of R, or of -R.
 *
 * Source: Banner, Hubara, Hoffer, Soudry, "Scalable methods for 8-bit training of neural networks"
 * (2018), section 3, with the constants of the authors' code.
 */
#include <math.h>
#include <string.h>

#include "base/elementary.h"
#include "kernel/fused/fused.h"
#include "kernel/reduce/channel.h"
#include "op/internal.h"

enum {
    GROUPS = HU_RANGE_NORM_GROUPS,
    GAMMA = HU_NORM_GAMMA,
    BETA = HU_NORM_BETA,
    RUNNING_MEAN = HU_NORM_RUNNING_MEAN,
    RUNNING_SCALE = HU_NORM_RUNNING_SCALE
};

/* ---- groups ---- */

int64_t hu_range_norm_groups(int64_t n) {
    int64_t pairs = n / 2;
    if (pairs < 1) return 1;
    return pairs < GROUPS ? pairs : GROUPS;
}

int64_t hu_range_norm_begin(int64_t n, int64_t group) {
    int64_t groups = hu_range_norm_groups(n);
    return (group * n + groups - 1) / groups;
}

/* The group of value i. */
static int64_t group_of(int64_t n, int64_t i) {
    return hu_range_norm_groups(n) * i / n;
}

double hu_range_norm_kappa(int64_t n) {
    static const double pi = 3.14159265358979323846;
    double values = (double)n / (double)hu_range_norm_groups(n);
    double factor = 0.5 * 0.35 * (1.0 + sqrt(pi * hu_log(4.0)));
    return factor / sqrt(2.0 * hu_log(values > 2.0 ? values : 2.0));
}

/* ---- places ---- */

/* What a group has of every channel, each [C] doubles: extremes, and the numbers of the first
 * values of the pass that hold them. */
enum { HIGH, HIGH_AT, LOW, LOW_AT, FIELDS };

/* Partial of the forward pass: the groups that it has seen, first .. end - 1; sum of x [C]; then
 * the fields of all groups. Of the backward pass: sum(dy) [C], sum(dy (x - mean)) [C]. */
enum { SEEN_FIRST, SEEN_END, SEEN };

/* Stats: n and kappa; then [C] mean, 1 / (kappa R + epsilon), and of the backward pass sum(dy) / n
 * and sum(dy (x - mean)); then HIGH_AT and LOW_AT of all groups. */
enum { COUNT, KAPPA, NUMBERS };
enum { MEAN, SCALE, MEAN_DY, PRODUCT, VECTORS };
enum { PLACES = 2 };

static int64_t channels_of(const hu_op_call *call) {
    return hu_channels(&call->info->in[0]);
}

static double *stat(const hu_op_call *call, int which) {
    return call->stats + NUMBERS + which * channels_of(call);
}

/* Where the largest (which = 0) or smallest (1) values of a group stand, [C]. */
static double *place_of(const hu_op_call *call, int64_t group, int which) {
    return call->stats + NUMBERS + (VECTORS + PLACES * group + which) * channels_of(call);
}

static double *field(double *partial, int64_t channels, int64_t group, int which) {
    return partial + SEEN + (1 + FIELDS * group + which) * channels;
}

static const double *const_field(const double *partial, int64_t channels, int64_t group,
                                 int which) {
    return partial + SEEN + (1 + FIELDS * group + which) * channels;
}

static int64_t pixels_of_sample(const hu_op_call *call) {
    return hu_shape_elements(&call->info->in[0]) / channels_of(call);
}

/* Values of a channel in the pass. */
static int64_t values_of(const hu_op_call *call) {
    return call->total * pixels_of_sample(call);
}

static int64_t first_value(const hu_op_call *call) {
    return call->first * pixels_of_sample(call);
}

static size_t range_stats_count(const hu_node_info *info) {
    return NUMBERS + (VECTORS + PLACES * GROUPS) * (size_t)hu_channels(&info->in[0]);
}

static size_t range_partial_count(const hu_node_info *info, hu_pass pass) {
    size_t channels = (size_t)hu_channels(&info->in[0]);
    return pass == HU_FORWARD ? SEEN + (1 + FIELDS * GROUPS) * channels : 2 * channels;
}

/* ---- declared ---- */

static hu_status range_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                             hu_shape *out) {
    const hu_range_norm_attrs *a = attrs;
    (void)n_in;
    return hu_norm_shape("range_norm", a->epsilon, a->momentum, in, n_out, out);
}

static hu_status range_params(const void *attrs, const hu_shape *in, hu_param_decl *list,
                              int *count) {
    static const hu_param_decl decl[HU_NORM_PARAMS] = {
        [GAMMA] = {.suffix = "weight", .init = {HU_INIT_SHARE, 1}, .trained = true},
        [BETA] = {.suffix = "bias", .init = {HU_INIT_CONSTANT, 0}, .trained = true},
        [RUNNING_MEAN] = {.suffix = "running_mean", .init = {HU_INIT_CONSTANT, 0}},
        [RUNNING_SCALE] = {.suffix = "running_scale", .init = {HU_INIT_CONSTANT, 1}}};
    (void)attrs;
    hu_norm_declare(decl, in, list, count);
    return HU_OK;
}

/* ---- reductions ---- */

/* Room for the extremes of a run of values: two float and two integer vectors, [C] each. */
static size_t range_bytes(int64_t channels) {
    return (size_t)channels * 2 * (sizeof(float) + sizeof(int64_t));
}

/* reduce takes sums, extremes and a center in turn; forward and backward what norms share. */
static size_t range_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    int64_t channels = hu_channels(&info->in[0]);
    size_t sums = hu_channel_scratch_bytes(channels) + (size_t)channels * sizeof(float);
    size_t extremes = hu_channel_range_scratch_bytes(channels) + range_bytes(channels);
    size_t most = hu_norm_scratch_bytes(channels);
    (void)state, (void)pass;
    if (sums > most) most = sums;
    return extremes > most ? extremes : most;
}

static hu_channel_range range_in(const hu_op_call *call) {
    int64_t channels = channels_of(call);
    hu_channel_range range = {.high_at = call->scratch};
    range.low_at = range.high_at + channels;
    range.high = (float *)(void *)(range.low_at + channels);
    range.low = range.high + channels;
    return range;
}

/* Extremes of the chunk's values begin .. end - 1 of the pass, all of one group. */
static void reduce_group(const hu_op_call *call, int64_t group, int64_t begin, int64_t end) {
    int64_t channels = channels_of(call);
    const float *x = call->in[0] + (begin - first_value(call)) * channels;
    hu_channel_range range = range_in(call);
    hu_channel_extremes(end - begin, channels, x, (char *)call->scratch + range_bytes(channels),
                        &range);
    for (int64_t c = 0; c < channels; c++) {
        field(call->partial, channels, group, HIGH)[c] = (double)range.high[c];
        field(call->partial, channels, group, HIGH_AT)[c] = (double)(begin + range.high_at[c]);
        field(call->partial, channels, group, LOW)[c] = (double)range.low[c];
        field(call->partial, channels, group, LOW_AT)[c] = (double)(begin + range.low_at[c]);
    }
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* x [pixels, C] -> sums, and the extremes of the groups that reach into the chunk */
static void reduce_forward(const hu_op_call *call) {
    int64_t n = values_of(call), begin = first_value(call), end = begin + hu_norm_pixels(call);
    int64_t group = group_of(n, begin);
    hu_channel_sums(end - begin, channels_of(call), call->in[0], call->scratch,
                    call->partial + SEEN);
    call->partial[SEEN_FIRST] = (double)group;
    for (; begin < end; group++) {
        int64_t next = smaller(end, hu_range_norm_begin(n, group + 1));
        reduce_group(call, group, begin, next);
        begin = next;
    }
    call->partial[SEEN_END] = (double)group;
}

/* The mean that the forward pass subtracts, as float32. */
static void center_of(const hu_op_call *call, float *narrow) {
    const double *mean = stat(call, MEAN);
    if (!call->training) {
        memcpy(narrow, call->param[RUNNING_MEAN], (size_t)channels_of(call) * sizeof *narrow);
        return;
    }
    for (int64_t c = 0; c < channels_of(call); c++) narrow[c] = (float)mean[c];
}

static void scale_of(const hu_op_call *call, float *narrow) {
    const float *gamma = call->param[GAMMA], *running = call->param[RUNNING_SCALE];
    const double *scale = stat(call, SCALE);
    for (int64_t c = 0; c < channels_of(call); c++)
        narrow[c] = (float)((double)gamma[c] * (call->training ? scale[c] : (double)running[c]));
}

/* The gradient is that of what forward computed: with the mean rounded to float32. */
static void reduce_backward(const hu_op_call *call) {
    int64_t channels = channels_of(call);
    void *behind = (char *)call->scratch + hu_channel_scratch_bytes(channels);
    float *center = behind;
    center_of(call, center);
    hu_channel_products(hu_norm_pixels(call), channels, call->dout[0], call->in[0], center,
                        call->scratch, call->partial, call->partial + channels);
}

static void range_reduce(const hu_op_call *call, hu_pass pass) {
    size_t sums = pass == HU_FORWARD ? SEEN + (size_t)channels_of(call)
                                     : range_partial_count(call->info, pass);
    if (!call->training)
        memset(call->partial, 0, sums * sizeof(double));
    else if (pass == HU_FORWARD)
        reduce_forward(call);
    else
        reduce_backward(call);
}

/* A group that both chunks reach: the values on the right come later, so equal ones stay. */
static void merge_group(int64_t channels, int64_t group, double *left, const double *right) {
    double *high = field(left, channels, group, HIGH), *high_at = high + channels;
    double *low = field(left, channels, group, LOW), *low_at = low + channels;
    const double *more = const_field(right, channels, group, HIGH);
    for (int64_t c = 0; c < channels; c++)
        if (more[c] > high[c]) high[c] = more[c], high_at[c] = more[channels + c];
    more += LOW * channels;
    for (int64_t c = 0; c < channels; c++)
        if (more[c] < low[c]) low[c] = more[c], low_at[c] = more[channels + c];
}

/* The chunks on the right begin where those on the left end. */
static void merge_forward(int64_t channels, double *left, const double *right) {
    int64_t shared = (int64_t)left[SEEN_END];
    for (int64_t c = 0; c < channels; c++) left[SEEN + c] += right[SEEN + c];
    for (int64_t g = (int64_t)right[SEEN_FIRST]; g < (int64_t)right[SEEN_END]; g++) {
        if (g < shared)
            merge_group(channels, g, left, right);
        else
            memcpy(field(left, channels, g, HIGH), const_field(right, channels, g, HIGH),
                   FIELDS * (size_t)channels * sizeof(double));
    }
    left[SEEN_END] = right[SEEN_END];
}

static void range_merge(const hu_node_info *info, hu_pass pass, double *left, const double *right) {
    int64_t channels = hu_channels(&info->in[0]);
    if (pass == HU_FORWARD)
        merge_forward(channels, left, right);
    else
        for (int64_t i = 0; i < 2 * channels; i++) left[i] += right[i];
}

/* Mean of the groups' largest values less that of their smallest ones. */
static double spread_of(const double *partial, int64_t channels, int64_t groups, int64_t c) {
    double high = 0.0, low = 0.0;
    for (int64_t g = 0; g < groups; g++) {
        high += const_field(partial, channels, g, HIGH)[c];
        low += const_field(partial, channels, g, LOW)[c];
    }
    return high / (double)groups - low / (double)groups;
}

static void finish_forward(const hu_op_call *call) {
    const hu_range_norm_attrs *a = call->info->attrs;
    int64_t channels = channels_of(call), n = values_of(call), groups = hu_range_norm_groups(n);
    double kappa = hu_range_norm_kappa(n);
    call->stats[COUNT] = (double)n;
    call->stats[KAPPA] = kappa;
    for (int64_t c = 0; c < channels; c++) {
        double spread = spread_of(call->partial, channels, groups, c);
        stat(call, MEAN)[c] = call->partial[SEEN + c] / (double)n;
        stat(call, SCALE)[c] = 1.0 / (kappa * spread + (double)a->epsilon);
    }
    size_t bytes = (size_t)channels * sizeof(double);
    for (int64_t g = 0; g < groups; g++) {
        memcpy(place_of(call, g, 0), field(call->partial, channels, g, HIGH_AT), bytes);
        memcpy(place_of(call, g, 1), field(call->partial, channels, g, LOW_AT), bytes);
    }
}

/* Merged sums -> dgamma, dbeta [C], and what dx needs. */
static void finish_backward(const hu_op_call *call) {
    int64_t channels = channels_of(call);
    const double *sum = call->partial, *product = sum + channels;
    for (int64_t c = 0; c < channels; c++) {
        stat(call, MEAN_DY)[c] = sum[c] / call->stats[COUNT];
        stat(call, PRODUCT)[c] = product[c];
        if (call->dparam && call->dparam[GAMMA])
            call->dparam[GAMMA][c] = (float)(product[c] * stat(call, SCALE)[c]);
        if (call->dparam && call->dparam[BETA]) call->dparam[BETA][c] = (float)sum[c];
    }
}

static void range_finish(const hu_op_call *call, hu_pass pass) {
    if (!call->training) return;
    if (pass == HU_FORWARD)
        finish_forward(call);
    else
        finish_backward(call);
}

/* ---- passes ---- */

/* x [pixels, C] -> y = (x - mean) * scale + beta */
static void range_forward(const hu_op_call *call) {
    hu_norm_apply(call, center_of, scale_of, NULL);
}

static void range_forward_relu(const hu_op_call *call, uint8_t *bits) {
    hu_norm_apply(call, center_of, scale_of, bits);
}

/* Gradient of the loss by the largest value of a group [C]; that by the smallest is its negative:
 * d(1 / (kappa R + epsilon)) / dR = -kappa / (kappa R + epsilon)^2, and a group has 1 / groups of
 * R.
 */
static void push_of(const hu_op_call *call, float *narrow) {
    int64_t n = values_of(call), groups = hu_range_norm_groups(n);
    const float *gamma = call->param[GAMMA];
    const double *scale = stat(call, SCALE), *product = stat(call, PRODUCT);
    double share = call->stats[KAPPA] / (double)groups;
    for (int64_t c = 0; c < channels_of(call); c++)
        narrow[c] = (float)(-share * (double)gamma[c] * product[c] * scale[c] * scale[c]);
}

/* Adds what goes through the extremes that stand in this chunk. */
static void push_extremes(const hu_op_call *call, const float *push) {
    int64_t n = values_of(call), channels = channels_of(call);
    int64_t begin = first_value(call), end = begin + hu_norm_pixels(call);
    float *dx = call->din[0];
    for (int64_t g = group_of(n, begin); g <= group_of(n, end - 1); g++)
        for (int which = 0; which < PLACES; which++) {
            const double *place = place_of(call, g, which);
            for (int64_t c = 0; c < channels; c++) {
                int64_t at = (int64_t)place[c];
                if (at < begin || at >= end) continue;
                dx[(at - begin) * channels + c] += which == 0 ? push[c] : -push[c];
            }
        }
}

/* dx = gamma * scale * (dy - mean(dy)), and at the extremes their share of what goes through R;
 * constant statistics in eval. */
static void range_backward(const hu_op_call *call) {
    int64_t channels = channels_of(call), width = hu_channel_width(channels);
    float *mean = call->scratch, *scale = mean + width, *zero = scale + width;
    float *narrow = zero + width;
    if (!call->din[0]) return;
    for (int64_t c = 0; c < channels; c++)
        narrow[c] = call->training ? (float)stat(call, MEAN_DY)[c] : 0.0f;
    hu_channel_widen(channels, narrow, mean);
    scale_of(call, narrow);
    hu_channel_widen(channels, narrow, scale);
    memset(zero, 0, (size_t)width * sizeof *zero);
    hu_fused()->normalise(hu_norm_pixels(call) * channels, width, call->dout[0], mean, scale, zero,
                          call->din[0]);
    if (!call->training) return;
    push_of(call, narrow);
    push_extremes(call, narrow);
}

static void range_commit(const hu_op_call *call, float **buffers) {
    const hu_range_norm_attrs *a = call->info->attrs;
    float *mean = buffers[RUNNING_MEAN], *scale = buffers[RUNNING_SCALE];
    for (int64_t c = 0; c < channels_of(call); c++) {
        mean[c] = hu_norm_blend(mean[c], stat(call, MEAN)[c], a->momentum);
        scale[c] = hu_norm_blend(scale[c], stat(call, SCALE)[c], a->momentum);
    }
}

static const hu_attribute range_attributes[] = {
    {HU_ATTRIBUTE_REAL, "epsilon", offsetof(hu_range_norm_attrs, epsilon), 1e-5, 0, INFINITY},
    {HU_ATTRIBUTE_REAL, "momentum", offsetof(hu_range_norm_attrs, momentum), 0.9, 0, 1},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

const hu_op hu_op_range_norm = {.name = "range_norm",
                                .attrs_bytes = sizeof(hu_range_norm_attrs),
                                .attributes = range_attributes,
                                .min_in = 1,
                                .max_in = 1,
                                .is_cheap = true,
                                .in_place = true,
                                .shape = range_shape,
                                .params = range_params,
                                .saves = HU_SAVE_INPUT_0,
                                .stats_count = range_stats_count,
                                .partial_count = range_partial_count,
                                .scratch_bytes = range_scratch_bytes,
                                .reduce = range_reduce,
                                .merge = range_merge,
                                .finish = range_finish,
                                .forward = range_forward,
                                .forward_relu = range_forward_relu,
                                .backward = range_backward,
                                .commit = range_commit};
