#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "kernel/elementary/elementary.h"
#include "media/ctc.h"
#include "op/internal.h"

static const hu_attribute ctc_attributes[] = {
    {HU_ATTRIBUTE_FLAG, "takes_logs", offsetof(hu_ctc_attrs, takes_logs), 0, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

/* ---- shapes and targets ---- */

static hu_status ctc_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                           hu_shape *out) {
    (void)attrs, (void)n_in;
    if (in[0].rank != 2 || in[0].extent[1] < 2 || in[1].rank != 1 || hu_shape_elements(&in[2]) != 1)
        return hu_fail(HU_ERR_SHAPE,
                       "ctc_loss: found inputs of rank %d, %d and %d, expected rows of at least 2 "
                       "class scores, a list of labels and a number of rows",
                       in[0].rank, in[1].rank, in[2].rank);
    *n_out = 1;
    out[0] = (hu_shape){.rank = 0};
    return HU_OK;
}

/* Samples are the units; of one whose labels cannot be used all numbers count as unusable. */
static int64_t check_target(const hu_node_info *info, int64_t count, const float *target,
                            hu_round_counts *counts) {
    int64_t most = info->in[1].extent[0], labels;
    for (int64_t s = 0; s < count; s++)
        if (!hu_ctc_labels(target + s * most, most, hu_channels(&info->in[0]), &labels))
            counts->nan += (uint64_t)most;
    counts->elements += (uint64_t)(count * most);
    return count;
}

/* ---- one sample ---- */

typedef struct sample {
    hu_ctc paths;
    bool is_sound, is_possible; /* labels and length can be used; there is a path */
} sample;

static int64_t most_states(const hu_node_info *info) {
    return 2 * info->in[1].extent[0] + 1;
}

static size_t ctc_scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    int64_t rows = info->in[0].extent[0], states = most_states(info);
    int64_t kept = pass == HU_FORWARD ? 2 : rows + 2;
    (void)state;
    return (size_t)(2 * rows + kept * states + 2 * hu_channels(&info->in[0])) * sizeof(double);
}

static void take_scratch(const hu_op_call *call, hu_pass pass, hu_ctc *p) {
    const hu_node_info *info = call->info;
    int64_t rows = info->in[0].extent[0], states = most_states(info);
    p->most = call->scratch;
    p->log_sum = p->most + rows;
    p->alpha = p->log_sum + rows;
    p->beta = p->alpha + (pass == HU_FORWARD ? 0 : rows * states);
    p->largest = p->beta + 2 * states;
    p->shares = p->largest + p->classes;
}

static sample look_at(const hu_op_call *call, hu_pass pass, int64_t s) {
    const hu_node_info *info = call->info;
    const hu_ctc_attrs *attrs = info->attrs;
    int64_t rows = info->in[0].extent[0], most = info->in[1].extent[0];
    int64_t classes = hu_channels(&info->in[0]);
    float length = call->in[2][s];
    hu_ctc p = {.x = call->in[0] + s * rows * classes,
                .target = call->in[1] + s * most,
                .classes = classes,
                .takes_logs = attrs && attrs->takes_logs};
    bool is_length = length >= 0.0f && (double)length <= (double)rows;
    bool is_sound = hu_ctc_labels(p.target, most, classes, &p.labels) && is_length &&
                    (float)(int64_t)length == length;
    p.rows = is_sound ? (int64_t)length : 0;
    p.states = 2 * p.labels + 1;
    take_scratch(call, pass, &p);
    if (!p.takes_logs) hu_elementary()->row_logs(p.rows, classes, p.x, p.most, p.log_sum);
    return (sample){p, is_sound, is_sound && p.rows >= hu_ctc_least_rows(p.target, p.labels)};
}

static double sample_loss(const hu_op_call *call, int64_t s, bool *is_left_out) {
    sample p = look_at(call, HU_FORWARD, s);
    *is_left_out = p.is_sound && !p.is_possible;
    if (!p.is_sound) return (double)NAN;
    return p.is_possible ? -hu_ctc_log_probability(&p.paths) : 0.0;
}

/* ---- gradients ---- */

/* dx [T, V], all of it. */
static void sample_gradient(const hu_op_call *call, int64_t s) {
    int64_t numbers = hu_shape_elements(&call->info->in[0]);
    float *dx = call->din[0] + s * numbers;
    sample p = look_at(call, HU_BACKWARD, s);
    memset(dx, 0, (size_t)numbers * sizeof *dx);
    for (int64_t i = 0; i < numbers && !p.is_sound; i++) dx[i] = NAN;
    if (!p.is_possible) return;
    hu_ctc_slopes(&p.paths, (double)call->dout[0][s], dx);
}

/* ---- the record ---- */

/* in[0] [count, T, V], in[1] [count, L], in[2] [count] -> out[0] [count] */
static void ctc_forward(const hu_op_call *call) {
    bool is_left_out;
    for (int64_t s = 0; s < call->count; s++)
        call->out[0][s] = (float)sample_loss(call, s, &is_left_out);
}

static void ctc_reduce(const hu_op_call *call, hu_pass pass) {
    double sum = 0.0, left_out = 0.0;
    bool is_left_out;
    if (pass == HU_BACKWARD) return;
    for (int64_t s = 0; s < call->count; s++) {
        sum += sample_loss(call, s, &is_left_out);
        left_out += is_left_out;
    }
    call->partial[HU_LOSS_SUM] = sum;
    call->partial[HU_LOSS_METRIC] = left_out;
}

/* Labels and lengths do not move. */
static void ctc_backward(const hu_op_call *call) {
    for (int i = 1; i < call->info->n_in; i++) {
        size_t n = (size_t)(call->count * hu_shape_elements(&call->info->in[i]));
        if (call->din[i]) memset(call->din[i], 0, n * sizeof *call->din[i]);
    }
    for (int64_t s = 0; s < call->count && call->din[0]; s++) sample_gradient(call, s);
}

const hu_op hu_op_ctc_loss = {.name = "ctc_loss",
                              .attrs_bytes = sizeof(hu_ctc_attrs),
                              .attributes = ctc_attributes,
                              HU_LOSS_RECORD_OF(3),
                              .shape = ctc_shape,
                              .check_target = check_target,
                              .saves = HU_SAVE_ALL_INPUTS,
                              .scratch_bytes = ctc_scratch_bytes,
                              .reduce = ctc_reduce,
                              .forward = ctc_forward,
                              .backward = ctc_backward};
