#include "op/loss_ctc.h"

#include <inttypes.h>
#include <math.h>

#include "base/elementary.h"
#include "base/error.h"
#include "kernel/elementary/elementary.h"
#include "op/expect.h"
#include "op/loss.h"
#include "op/softmax_row.h"

/* log 0: a state that no path is in. */
static const double never = -(double)INFINITY;

static const hu_attribute ctc_attributes[] = {
    {HU_ATTRIBUTE_FLAG, "takes_logs", offsetof(hu_ctc_attrs, takes_logs), 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0},
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

static bool is_label(float number, int64_t classes) {
    return number >= 1.0f && (double)number < (double)classes && (float)(int64_t)number == number;
}

bool hu_ctc_labels(const float *target, int64_t most, int64_t classes, int64_t *count) {
    int64_t n = 0;
    while (n < most && is_label(target[n], classes)) n++;
    *count = n;
    while (n < most && target[n] < 0.0f) n++;
    return n == most;
}

int64_t hu_ctc_least_rows(const float *target, int64_t count) {
    int64_t rows = count;
    for (int64_t i = 1; i < count; i++) rows += target[i] == target[i - 1];
    return rows;
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

/* States are the labels with blanks around them: 0 .. 2 labels. */
typedef struct sample {
    const float *x, *target; /* [T, V], [labels] */
    int64_t rows, classes, labels, states;
    bool is_sound, is_possible, takes_logs;
    double *most, *log_sum;   /* [T] of the softmax of each row */
    double *alpha;            /* [T, states], of the forward pass [2, states] */
    double *beta;             /* [2, states] */
    double *largest, *shares; /* [V] */
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

static void take_scratch(const hu_op_call *call, hu_pass pass, sample *p) {
    const hu_node_info *info = call->info;
    int64_t rows = info->in[0].extent[0], states = most_states(info);
    p->most = call->scratch;
    p->log_sum = p->most + rows;
    p->alpha = p->log_sum + rows;
    p->beta = p->alpha + (pass == HU_FORWARD ? 0 : rows * states);
    p->largest = p->beta + 2 * states;
    p->shares = p->largest + p->classes;
}

static void look_at(const hu_op_call *call, hu_pass pass, int64_t s, sample *p) {
    const hu_node_info *info = call->info;
    const hu_ctc_attrs *attrs = info->attrs;
    int64_t rows = info->in[0].extent[0], most = info->in[1].extent[0];
    float length = call->in[2][s];
    p->classes = hu_channels(&info->in[0]);
    p->x = call->in[0] + s * rows * p->classes;
    p->target = call->in[1] + s * most;
    p->takes_logs = attrs && attrs->takes_logs;
    bool is_length = length >= 0.0f && (double)length <= (double)rows;
    p->is_sound = hu_ctc_labels(p->target, most, p->classes, &p->labels) && is_length &&
                  (float)(int64_t)length == length;
    p->rows = p->is_sound ? (int64_t)length : 0;
    p->states = 2 * p->labels + 1;
    p->is_possible = p->is_sound && p->rows >= hu_ctc_least_rows(p->target, p->labels);
    take_scratch(call, pass, p);
    if (!p->takes_logs) hu_elementary()->row_logs(p->rows, p->classes, p->x, p->most, p->log_sum);
}

/* Class of a state. */
static int64_t class_of(const sample *p, int64_t state) {
    return state % 2 ? (int64_t)p->target[state / 2] : HU_CTC_BLANK;
}

/* A path may go from the state two before to this one, past a blank. */
static bool skips_to(const sample *p, int64_t state) {
    return state % 2 && state > 1 && p->target[state / 2] != p->target[state / 2 - 1];
}

/* Log-probability of class k in row t. */
static double log_of(const sample *p, int64_t t, int64_t k) {
    float x = p->x[t * p->classes + k];
    if (p->takes_logs) return (double)x;
    return hu_log_softmax((hu_softmax_row){p->most[t], p->log_sum[t]}, x);
}

/* log(e^a + e^b + e^c); a NaN is not lost. */
static double log_sum_of(double a, double b, double c) {
    double most = a;
    if (b > most || b != b) most = b;
    if (c > most || c != c) most = c;
    if (most <= never) return never;
    return most + hu_log(hu_exp(a - most) + hu_exp(b - most) + hu_exp(c - most));
}

/* The next row of alpha from that before it (NULL: the first). */
static void alpha_row(const sample *p, int64_t t, const double *before, double *now) {
    for (int64_t s = 0; s < p->states; s++) {
        double reached = s < 2 ? 0.0 : never;
        if (before)
            reached = log_sum_of(before[s], s > 0 ? before[s - 1] : never,
                                 skips_to(p, s) ? before[s - 2] : never);
        now[s] = log_of(p, t, class_of(p, s)) + reached;
    }
}

/* The row of beta before the one behind it (NULL: the last). */
static void beta_row(const sample *p, int64_t t, const double *behind, double *now) {
    for (int64_t s = 0; s < p->states; s++) {
        bool skips = s + 2 < p->states && skips_to(p, s + 2);
        double left = s + 2 < p->states ? never : 0.0;
        if (behind)
            left = log_sum_of(behind[s], s + 1 < p->states ? behind[s + 1] : never,
                              skips ? behind[s + 2] : never);
        now[s] = log_of(p, t, class_of(p, s)) + left;
    }
}

/* log of the probability of all paths; keeps: alpha holds all rows, not only the last two. */
static double log_probability(const sample *p, bool keeps) {
    double *before = NULL;
    if (p->rows == 0) return 0.0;
    for (int64_t t = 0; t < p->rows; t++) {
        double *now = p->alpha + (keeps ? t : t % 2) * p->states;
        alpha_row(p, t, before, now);
        before = now;
    }
    int64_t last = p->states - 1;
    return log_sum_of(before[last], last > 0 ? before[last - 1] : never, never);
}

static double sample_loss(const hu_op_call *call, int64_t s, bool *is_left_out) {
    sample p;
    look_at(call, HU_FORWARD, s, &p);
    *is_left_out = p.is_sound && !p.is_possible;
    if (!p.is_sound) return (double)NAN;
    return p.is_possible ? -log_probability(&p, false) : 0.0;
}

/* ---- gradients ---- */

/* For each class: the log of what all its states together have of the paths at row t, as a largest
 * term and a sum of the others beside it. */
static void gather(const sample *p, const double *alpha, const double *beta) {
    for (int64_t k = 0; k < p->classes; k++) {
        p->largest[k] = never;
        p->shares[k] = 0.0;
    }
    for (int64_t s = 0; s < p->states; s++) {
        double both = alpha[s] + beta[s], *largest = &p->largest[class_of(p, s)];
        if (both > *largest || both != both) *largest = both;
    }
    for (int64_t s = 0; s < p->states; s++) {
        int64_t k = class_of(p, s);
        if (p->largest[k] <= never) continue;
        p->shares[k] += hu_exp(alpha[s] + beta[s] - p->largest[k]);
    }
}

/* Probability that a path is at class k in row t, of those that spell the labels. */
static double occupied(const sample *p, int64_t t, int64_t k, double log_p) {
    if (p->largest[k] <= never) return 0.0;
    return hu_exp(p->largest[k] + hu_log(p->shares[k]) - log_of(p, t, k) - log_p);
}

/* dx [V] of row t. */
static void slopes(const sample *p, int64_t t, double log_p, double dy, float *dx) {
    const float *x = p->x + t * p->classes;
    hu_softmax_row row = {p->most[t], p->log_sum[t]};
    for (int64_t k = 0; k < p->classes; k++) {
        double expected = p->takes_logs ? 0.0 : hu_softmax(row, x[k]);
        dx[k] = (float)(dy * (expected - occupied(p, t, k, log_p)));
    }
}

/* dx [T, V], all of it. */
static void sample_gradient(const hu_op_call *call, int64_t s) {
    int64_t numbers = hu_shape_elements(&call->info->in[0]);
    float *dx = call->din[0] + s * numbers;
    double dy = (double)call->dout[0][s], *behind = NULL;
    sample p;
    look_at(call, HU_BACKWARD, s, &p);
    memset(dx, 0, (size_t)numbers * sizeof *dx);
    for (int64_t i = 0; i < numbers && !p.is_sound; i++) dx[i] = NAN;
    if (!p.is_possible) return;
    double log_p = log_probability(&p, true);
    for (int64_t t = p.rows - 1; t >= 0; t--) {
        double *now = p.beta + t % 2 * p.states;
        beta_row(&p, t, behind, now);
        gather(&p, p.alpha + t * p.states, now);
        slopes(&p, t, log_p, dy, dx + t * p.classes);
        behind = now;
    }
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
