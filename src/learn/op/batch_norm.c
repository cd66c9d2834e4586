#include <math.h>
#include <string.h>

#include "base/error.h"
#include "kernel/fused/fused.h"
#include "kernel/reduce/channel.h"
#include "op/internal.h"

/* ---- normalise ---- */

/* What the norms share: y = (x - center) * scale + beta per channel, in vectors
 * that a norm makes of its statistics.
 */

/* Pixels that lie after each other: those of the whole chunk, or of a norm whose input 1 says how
 * many rows of a sample are present, those of one sample. */
typedef struct hu_norm_run {
    int64_t first, valid, all; /* in pixels of the chunk; there: of all that are */
} hu_norm_run;

int64_t hu_norm_pixels(const hu_op_call *call) {
    const hu_shape *in = &call->info->in[0];
    return call->count * (hu_shape_elements(in) / hu_channels(in));
}

static int64_t hu_norm_runs(const hu_op_call *call) {
    return call->info->n_in > 1 ? call->count : 1;
}

static hu_norm_run hu_norm_run_at(const hu_op_call *call, int64_t i) {
    int64_t pixels = hu_norm_pixels(call);
    if (call->info->n_in == 1) return (hu_norm_run){0, pixels, pixels};
    int64_t all = pixels / call->count, of_row = all / call->info->in[0].extent[0];
    return (hu_norm_run){i * all, hu_row_count(call, 1, i) * of_row, all};
}

hu_status hu_norm_shape(const char *op, float epsilon, float momentum, const hu_shape *in,
                        int *n_out, hu_shape *out) {
    hu_status st;
    HU_TRY(hu_expect_rank_least(op, in, 1));
    if (!(epsilon > 0) || !(momentum >= 0 && momentum <= 1))
        return hu_fail(HU_ERR_ARGUMENT,
                       "%s: epsilon %g, momentum %g; expected epsilon > 0 and momentum in [0, 1]",
                       op, (double)epsilon, (double)momentum);
    *n_out = 1;
    out[0] = in[0];
done:
    return st;
}

void hu_norm_declare(const hu_param_decl decl[HU_NORM_PARAMS], const hu_shape *in,
                     hu_param_decl *list, int *count) {
    for (int i = 0; i < HU_NORM_PARAMS; i++) {
        list[i] = decl[i];
        list[i].shape = (hu_shape){.rank = 1, .extent = {hu_channels(in)}};
    }
    *count = HU_NORM_PARAMS;
}

enum { WIDE_VECTORS = 4 };

size_t hu_norm_scratch_bytes(int64_t channels) {
    return (WIDE_VECTORS * (size_t)hu_channel_width(channels) + (size_t)channels) * sizeof(float);
}

/* The three wide vectors lie after each other in call->scratch. */
static void apply_run(const hu_op_call *call, const hu_norm_run *run, uint8_t *bits) {
    enum { BITS = 8 };
    int64_t channels = hu_channels(&call->info->in[0]), width = hu_channel_width(channels);
    int64_t valid = run->valid * channels, all = run->all * channels, at = run->first * channels;
    const float *center = call->scratch, *scale = center + width, *offset = scale + width;
    const float *x = call->in[0] + at;
    float *y = call->out[0] + at;
    if (bits) {
        /* A sample has a multiple of 8 elements; bits after the last element are 0. */
        uint8_t *of_run = bits + at / BITS;
        int64_t written = (valid + BITS - 1) / BITS;
        hu_fused()->normalise_relu(valid, width, x, center, scale, offset, y, of_run);
        if (valid < all) memset(of_run + written, 0, (size_t)(all / BITS - written));
    } else {
        hu_fused()->normalise(valid, width, x, center, scale, offset, y);
    }
    memset(y + valid, 0, (size_t)(all - valid) * sizeof *y);
}

/* Each narrow vector is widened before the next is computed: they share one [C]. */
void hu_norm_apply(const hu_op_call *call, hu_norm_vector *center_of, hu_norm_vector *scale_of,
                   uint8_t *bits) {
    int64_t channels = hu_channels(&call->info->in[0]), width = hu_channel_width(channels);
    float *center = call->scratch, *scale = center + width, *offset = scale + width;
    float *narrow = offset + width;
    center_of(call, narrow);
    hu_channel_widen(channels, narrow, center);
    scale_of(call, narrow);
    hu_channel_widen(channels, narrow, scale);
    hu_channel_widen(channels, call->param[HU_NORM_BETA], offset);
    for (int64_t i = 0; i < hu_norm_runs(call); i++) {
        const hu_norm_run run = hu_norm_run_at(call, i);
        apply_run(call, &run, bits);
    }
}

float hu_norm_blend(float old, double new, float momentum) {
    return (float)((1.0 - (double)momentum) * (double)old + (double)momentum * new);
}

/* ---- Attributes of batch_norm and range_norm ---- */

enum {
    GAMMA = HU_NORM_GAMMA,
    BETA = HU_NORM_BETA,
    RUNNING_MEAN = HU_NORM_RUNNING_MEAN,
    RUNNING_VAR = HU_NORM_RUNNING_SCALE
};

/* The input that says how many rows are present. */
enum { ROWS = 1 };

/* stats: [0] n; then vectors of C: mean, biased variance, 1/sqrt(variance + epsilon), and in the
 * backward pass sum(dy)/n and sum(dy * (x - mean))/n. partial forward: n, mean[C], m2[C]; backward:
 * sum(dy)[C], sum(dy * (x - mean))[C]. */
enum { MEAN, VARIANCE, INVSTD, MEAN_DY, MEAN_PRODUCT, STATS };

/* [C] doubles of the stats. */
static double *stat(const hu_op_call *call, int which) {
    return call->stats + 1 + which * hu_channels(&call->info->in[0]);
}

/* x [.., C] -> y, the same shape */
static hu_status norm_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                            hu_shape *out) {
    const hu_batch_norm_attrs *a = attrs;
    hu_status st = hu_expect_row_count("batch_norm", ROWS, n_in, in);
    return st == HU_OK ? hu_norm_shape("batch_norm", a->epsilon, a->momentum, in, n_out, out) : st;
}

static hu_status norm_params(const void *attrs, const hu_shape *in, hu_param_decl *list,
                             int *count) {
    static const hu_param_decl decl[HU_NORM_PARAMS] = {
        [GAMMA] = {.suffix = "weight", .init = {HU_INIT_CONSTANT, 1}, .trained = true},
        [BETA] = {.suffix = "bias", .init = {HU_INIT_CONSTANT, 0}, .trained = true},
        [RUNNING_MEAN] = {.suffix = "running_mean", .init = {HU_INIT_CONSTANT, 0}},
        [RUNNING_VAR] = {.suffix = "running_var", .init = {HU_INIT_CONSTANT, 1}}};
    (void)attrs;
    hu_norm_declare(decl, in, list, count);
    return HU_OK;
}

static size_t norm_stats_count(const hu_node_info *info) {
    return 1 + STATS * (size_t)hu_channels(&info->in[0]);
}

static size_t norm_partial_count(const hu_node_info *info, hu_pass pass) {
    return (pass == HU_FORWARD ? 1 : 0) + 2 * (size_t)hu_channels(&info->in[0]);
}

/* reduce: the sums' own scratch, two vectors [C] of a sample alone, and a center [C]; forward,
 * backward: what norms share. */
static size_t norm_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    int64_t channels = hu_channels(&info->in[0]);
    size_t sums = hu_channel_scratch_bytes(channels) +
                  (size_t)channels * (2 * sizeof(double) + sizeof(float));
    size_t wide = hu_norm_scratch_bytes(channels);
    (void)state, (void)pass;
    return sums > wide ? sums : wide;
}

/* The mean that the forward pass subtracts, as float32, into narrow [C]. */
static void center_of(const hu_op_call *call, float *narrow) {
    int64_t channels = hu_channels(&call->info->in[0]);
    const double *mean = stat(call, MEAN);
    if (!call->training) {
        memcpy(narrow, call->param[RUNNING_MEAN], (size_t)channels * sizeof *narrow);
        return;
    }
    for (int64_t c = 0; c < channels; c++) narrow[c] = (float)mean[c];
}

static double invstd_of(const hu_op_call *call, double variance) {
    const hu_batch_norm_attrs *a = call->info->attrs;
    return 1.0 / sqrt(variance + (double)a->epsilon);
}

/* gamma * invstd into narrow [C]. */
static void scale_of(const hu_op_call *call, float *narrow) {
    int64_t channels = hu_channels(&call->info->in[0]);
    const float *gamma = call->param[GAMMA], *running = call->param[RUNNING_VAR];
    const double *invstd = stat(call, INVSTD);
    for (int64_t c = 0; c < channels; c++)
        narrow[c] = (float)((double)gamma[c] *
                            (call->training ? invstd[c] : invstd_of(call, (double)running[c])));
}

/* Two vectors [C] after the scratch of the sums. */
static double *own_sums(const hu_op_call *call) {
    void *behind =
        (char *)call->scratch + hu_channel_scratch_bytes(hu_channels(&call->info->in[0]));
    return behind;
}

/* x [pixels, C] -> partial: pixels, mean [C], M2 [C]. The merge weighs chunks, and samples, by
 * their pixels. The first run writes, so that one run is what it is without a merge. */
static void reduce_forward(const hu_op_call *call) {
    int64_t channels = hu_channels(&call->info->in[0]);
    double *n = call->partial, *mean = n + 1, *own = own_sums(call);
    memset(n, 0, norm_partial_count(call->info, HU_FORWARD) * sizeof *n);
    for (int64_t i = 0; i < hu_norm_runs(call); i++) {
        const hu_norm_run run = hu_norm_run_at(call, i);
        bool is_first = n[0] <= 0.0;
        double *to = is_first ? mean : own;
        if (run.valid == 0) continue;
        hu_channel_moments(run.valid, channels, call->in[0] + run.first * channels, call->scratch,
                           to, to + channels);
        if (!is_first)
            hu_moments_merge(channels, n[0], mean, mean + channels, (double)run.valid, own,
                             own + channels);
        n[0] += (double)run.valid;
    }
}

/* dy, x [pixels, C] -> partial: the two sums over dy. The gradient is that of what forward
 * computed: with the mean rounded to float32. */
static void reduce_backward(const hu_op_call *call) {
    int64_t channels = hu_channels(&call->info->in[0]);
    double *sums = call->partial, *own = own_sums(call);
    void *behind = own + 2 * channels;
    float *center = behind;
    bool is_first = true;
    center_of(call, center);
    memset(sums, 0, 2 * (size_t)channels * sizeof *sums);
    for (int64_t i = 0; i < hu_norm_runs(call); i++) {
        const hu_norm_run run = hu_norm_run_at(call, i);
        int64_t at = run.first * channels;
        double *to = is_first ? sums : own;
        if (run.valid == 0) continue;
        hu_channel_products(run.valid, channels, call->dout[0] + at, call->in[0] + at, center,
                            call->scratch, to, to + channels);
        for (int64_t c = 0; c < 2 * channels && !is_first; c++) sums[c] += own[c];
        is_first = false;
    }
}

/* One chunk: moments of x, or in the backward pass the two sums over dy [pixels, C]. */
static void norm_reduce(const hu_op_call *call, hu_pass pass) {
    if (!call->training)
        memset(call->partial, 0, norm_partial_count(call->info, pass) * sizeof(double));
    else if (pass == HU_FORWARD)
        reduce_forward(call);
    else
        reduce_backward(call);
}

/* Moments by Chan, Golub and LeVeque (1979); sums by addition. */
static void norm_merge(const hu_node_info *info, hu_pass pass, double *left, const double *right) {
    int64_t channels = hu_channels(&info->in[0]);
    if (pass == HU_FORWARD) {
        if (right[0] <= 0) return;
        if (left[0] <= 0) {
            memcpy(left, right, norm_partial_count(info, pass) * sizeof *left);
            return;
        }
        hu_moments_merge(channels, left[0], left + 1, left + 1 + channels, right[0], right + 1,
                         right + 1 + channels);
        left[0] += right[0];
    } else {
        for (int64_t i = 0; i < 2 * channels; i++) left[i] += right[i];
    }
}

/* Merged moments -> mean, biased variance and 1/sqrt(variance + epsilon), all [C]. */
static void finish_forward(const hu_op_call *call) {
    int64_t channels = hu_channels(&call->info->in[0]);
    double n = call->partial[0];
    const double *mean = call->partial + 1, *m2 = mean + channels;
    call->stats[0] = n;
    for (int64_t c = 0; c < channels; c++) {
        double variance = n > 0 ? m2[c] / n : 0.0; /* no row of the batch is present */
        stat(call, MEAN)[c] = mean[c];
        stat(call, VARIANCE)[c] = variance;
        stat(call, INVSTD)[c] = invstd_of(call, variance);
    }
}

/* Merged sums -> dgamma, dbeta [C], and the two means that dx subtracts. */
static void finish_backward(const hu_op_call *call) {
    int64_t channels = hu_channels(&call->info->in[0]);
    const double *sum = call->partial, *product = sum + channels;
    const double *invstd = stat(call, INVSTD);
    double n = call->stats[0];
    for (int64_t c = 0; c < channels; c++) {
        stat(call, MEAN_DY)[c] = n > 0 ? sum[c] / n : 0.0;
        stat(call, MEAN_PRODUCT)[c] = n > 0 ? product[c] / n : 0.0;
        if (call->dparam && call->dparam[GAMMA])
            call->dparam[GAMMA][c] = (float)(product[c] * invstd[c]);
        if (call->dparam && call->dparam[BETA]) call->dparam[BETA][c] = (float)sum[c];
    }
}

static void norm_finish(const hu_op_call *call, hu_pass pass) {
    if (!call->training) return;
    if (pass == HU_FORWARD)
        finish_forward(call);
    else
        finish_backward(call);
}

/* x [pixels, C] -> y = (x - center) * scale + beta */
static void norm_forward(const hu_op_call *call) {
    hu_norm_apply(call, center_of, scale_of, NULL);
}

/* The same, then relu: bits [pixels, C], 1 where y > 0 or NaN. */
static void norm_forward_relu(const hu_op_call *call, uint8_t *bits) {
    hu_norm_apply(call, center_of, scale_of, bits);
}

/* dx = gamma * invstd * (dy - mean(dy) - xhat * mean(dy * xhat)); constant statistics in eval. */
static void norm_backward(const hu_op_call *call) {
    int64_t channels = hu_channels(&call->info->in[0]), width = hu_channel_width(channels);
    float *center = call->scratch, *scale = center + width, *mean = scale + width;
    float *slope = mean + width, *narrow = slope + width;
    const double *invstd = stat(call, INVSTD);
    if (call->info->n_in > ROWS && call->din[ROWS])
        memset(call->din[ROWS], 0, (size_t)call->count * sizeof(float));
    if (!call->din[0]) return;
    /* The four vectors share one narrow [C]: each is widened before the next is computed. */
    center_of(call, narrow);
    hu_channel_widen(channels, narrow, center);
    scale_of(call, narrow);
    hu_channel_widen(channels, narrow, scale);
    for (int64_t c = 0; c < channels; c++)
        narrow[c] = call->training ? (float)stat(call, MEAN_DY)[c] : 0;
    hu_channel_widen(channels, narrow, mean);
    for (int64_t c = 0; c < channels; c++)
        narrow[c] =
            call->training ? (float)(stat(call, MEAN_PRODUCT)[c] * invstd[c] * invstd[c]) : 0;
    hu_channel_widen(channels, narrow, slope);
    for (int64_t i = 0; i < hu_norm_runs(call); i++) {
        const hu_norm_run run = hu_norm_run_at(call, i);
        int64_t at = run.first * channels, valid = run.valid * channels;
        float *dx = call->din[0] + at;
        hu_fused()->normalise_backward(valid, width, call->dout[0] + at, call->in[0] + at, center,
                                       scale, mean, slope, dx);
        memset(dx + valid, 0, (size_t)(run.all * channels - valid) * sizeof *dx);
    }
}

/* Running statistics [C]: the variance without bias, as in torch. */
static void norm_commit(const hu_op_call *call, float **buffers) {
    const hu_batch_norm_attrs *a = call->info->attrs;
    int64_t channels = hu_channels(&call->info->in[0]);
    double n = call->stats[0], unbiased = n > 1 ? n / (n - 1) : 1;
    float *mean = buffers[RUNNING_MEAN], *variance = buffers[RUNNING_VAR];
    if (!(n > 0)) return;
    for (int64_t c = 0; c < channels; c++) {
        mean[c] = hu_norm_blend(mean[c], stat(call, MEAN)[c], a->momentum);
        variance[c] = hu_norm_blend(variance[c], stat(call, VARIANCE)[c] * unbiased, a->momentum);
    }
}

static const hu_attribute norm_attributes[] = {
    {HU_ATTRIBUTE_REAL, "epsilon", offsetof(hu_batch_norm_attrs, epsilon), 1e-5, 0, INFINITY},
    {HU_ATTRIBUTE_REAL, "momentum", offsetof(hu_batch_norm_attrs, momentum), 0.1, 0, 1},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

const hu_op hu_op_batch_norm = {.name = "batch_norm",
                                .attrs_bytes = sizeof(hu_batch_norm_attrs),
                                .attributes = norm_attributes,
                                .min_in = 1,
                                .max_in = 2,
                                .ends_by = ROWS,
                                .is_cheap = true,
                                .in_place = true,
                                .shape = norm_shape,
                                .params = norm_params,
                                .saves = HU_SAVE_INPUT_0 | HU_SAVE_INPUT_1,
                                .stats_count = norm_stats_count,
                                .partial_count = norm_partial_count,
                                .scratch_bytes = norm_scratch_bytes,
                                .reduce = norm_reduce,
                                .merge = norm_merge,
                                .finish = norm_finish,
                                .forward = norm_forward,
                                .forward_relu = norm_forward_relu,
                                .backward = norm_backward,
                                .commit = norm_commit};
