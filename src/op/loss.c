/* log_softmax over the last extent, and the negative log-likelihood of a label. */
#include <math.h>
#include <string.h>

#include "base/elementary.h"
#include "base/error.h"
#include "op/expect.h"
#include "op/op.h"

/* ---- log_softmax: in double inside a row, one rounding per element ---- */

static hu_status log_softmax_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                   hu_shape *out) {
    (void)attrs, (void)n_in;
    *n_out = 1;
    out[0] = in[0];
    return hu_expect_rank_least("log_softmax", in, 1);
}

static void log_softmax_row(int64_t classes, const float *x, float *y) {
    double most = (double)x[0], sum = 0;
    for (int64_t c = 1; c < classes; c++)
        if ((double)x[c] > most || x[c] != x[c]) most = (double)x[c];
    for (int64_t c = 0; c < classes; c++) sum += hu_exp((double)x[c] - most);
    double log_sum = hu_log(sum);
    for (int64_t c = 0; c < classes; c++) y[c] = (float)((double)x[c] - most - log_sum);
}

static int64_t rows_of(const hu_op_call *call) {
    const hu_shape *in = &call->info->in[0];
    return call->count * (hu_shape_elements(in) / hu_channels(in));
}

static void log_softmax_forward(const hu_op_call *call) {
    int64_t classes = hu_channels(&call->info->in[0]);
    for (int64_t r = 0; r < rows_of(call); r++)
        log_softmax_row(classes, call->in[0] + r * classes, call->out[0] + r * classes);
}

/* dx = dy - exp(y) * sum(dy), y the rounded output (Lee et al.). */
static void log_softmax_backward(const hu_op_call *call) {
    int64_t classes = hu_channels(&call->info->in[0]);
    if (!call->din[0]) return;
    for (int64_t r = 0; r < rows_of(call); r++) {
        const float *y = call->out[0] + r * classes, *dy = call->dout[0] + r * classes;
        float *dx = call->din[0] + r * classes;
        double sum = 0;
        for (int64_t c = 0; c < classes; c++) sum += (double)dy[c];
        for (int64_t c = 0; c < classes; c++)
            dx[c] = (float)((double)dy[c] - hu_exp((double)y[c]) * sum);
    }
}

const hu_op hu_op_log_softmax = {.name = "log_softmax",
                                 .min_in = 1,
                                 .max_in = 1,
                                 .is_cheap = true,
                                 .in_place = true,
                                 .shape = log_softmax_shape,
                                 .saves = HU_SAVE_OUTPUT_0,
                                 .forward = log_softmax_forward,
                                 .backward = log_softmax_backward};

/* ---- nll ---- */

static hu_status nll_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                           hu_shape *out) {
    hu_status st;
    (void)attrs, (void)n_in;
    HU_TRY(hu_expect_rank("nll", &in[0], 1));
    if (hu_shape_elements(&in[1]) != 1)
        return hu_fail(HU_ERR_SHAPE, "nll: the labels have %lld elements per sample, expected 1",
                       (long long)hu_shape_elements(&in[1]));
    *n_out = 1;
    out[0] = (hu_shape){.rank = 0};
done:
    return st;
}

static size_t nll_stats_count(const hu_node_info *info) {
    (void)info;
    return HU_NLL_STATS;
}

static size_t nll_partial_count(const hu_node_info *info, hu_pass pass) {
    (void)info;
    return pass == HU_FORWARD ? HU_NLL_STATS : 0;
}

/* The class that a label names; -1 for what is not one of 0..classes-1. */
static int64_t class_of(float label, int64_t classes) {
    if (!(label >= 0 && (double)label < (double)classes)) return -1;
    return (float)(int64_t)label == label ? (int64_t)label : -1;
}

static int64_t label_of(const hu_op_call *call, int64_t sample) {
    return class_of(call->in[1][sample], hu_channels(&call->info->in[0]));
}

static int64_t nll_check_target(const hu_node_info *info, int64_t count, const float *target,
                                hu_round_counts *counts) {
    counts->elements += (uint64_t)count;
    for (int64_t s = 0; s < count; s++)
        counts->nan += class_of(target[s], hu_channels(&info->in[0])) < 0;
    return count;
}

static float loss_of(const hu_op_call *call, int64_t sample) {
    int64_t classes = hu_channels(&call->info->in[0]), label = label_of(call, sample);
    return label < 0 ? NAN : -call->in[0][sample * classes + label];
}

/* Index of the first largest entry; -1 if there is a NaN. */
static int64_t arg_max(int64_t classes, const float *x) {
    int64_t best = 0;
    for (int64_t c = 0; c < classes; c++) {
        if (x[c] != x[c]) return -1;
        if (x[c] > x[best]) best = c;
    }
    return best;
}

static void nll_reduce(const hu_op_call *call, hu_pass pass) {
    int64_t classes = hu_channels(&call->info->in[0]);
    double loss = 0, correct = 0;
    if (pass == HU_BACKWARD) return;
    for (int64_t s = 0; s < call->count; s++) {
        int64_t label = label_of(call, s);
        loss += (double)loss_of(call, s);
        correct += label >= 0 && arg_max(classes, call->in[0] + s * classes) == label;
    }
    call->partial[HU_NLL_LOSS_SUM] = loss;
    call->partial[HU_NLL_CORRECT] = correct;
}

static void nll_finish(const hu_op_call *call, hu_pass pass) {
    if (pass == HU_FORWARD) memcpy(call->stats, call->partial, HU_NLL_STATS * sizeof(double));
}

static void nll_forward(const hu_op_call *call) {
    for (int64_t s = 0; s < call->count; s++) call->out[0][s] = loss_of(call, s);
}

static void nll_backward(const hu_op_call *call) {
    int64_t classes = hu_channels(&call->info->in[0]);
    if (!call->din[0]) return;
    memset(call->din[0], 0, (size_t)(call->count * classes) * sizeof(float));
    for (int64_t s = 0; s < call->count; s++) {
        int64_t label = label_of(call, s);
        if (label >= 0) call->din[0][s * classes + label] = -call->dout[0][s];
    }
}

const hu_op hu_op_nll = {.name = "nll",
                         .min_in = 2,
                         .max_in = 2,
                         .reduce_after_forward = true,
                         .is_loss = true,
                         .check_target = nll_check_target,
                         .shape = nll_shape,
                         .saves = HU_SAVE_INPUT_1,
                         .stats_count = nll_stats_count,
                         .partial_count = nll_partial_count,
                         .reduce = nll_reduce,
                         .finish = nll_finish,
                         .forward = nll_forward,
                         .backward = nll_backward};
