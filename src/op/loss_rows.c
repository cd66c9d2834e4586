/* Losses of rows with a class each: nll on log-probabilities, softmax_cross_entropy on logits. */
#include <math.h>

#include "base/error.h"
#include "op/expect.h"
#include "op/loss.h"
#include "op/softmax_row.h"

enum { NO_CLASS = -1, IGNORED = -2 };

static const hu_attribute row_loss_attributes[] = {
    {HU_ATTRIBUTE_FLAG, "ignores", offsetof(hu_row_loss_attrs, ignores), 0},
    {HU_ATTRIBUTE_REAL, "ignored", offsetof(hu_row_loss_attrs, ignored), 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0},
};

/* ---- targets ---- */

/* Predictions [.., classes] and targets [..]; a target of one element fits one row of any rank. */
static hu_status row_loss_shape(const char *op, const hu_shape *in, int *n_out, hu_shape *out) {
    enum { SHAPE_TEXT = 176 };
    char prediction[SHAPE_TEXT], target[SHAPE_TEXT];
    hu_status st = hu_expect_rank_least(op, &in[0], 1);
    if (st != HU_OK) return st;
    hu_shape rows = in[0];
    rows.rank--;
    *n_out = 1;
    out[0] = (hu_shape){.rank = 0};
    if (hu_shape_equal(&rows, &in[1])) return HU_OK;
    if (hu_shape_elements(&rows) == 1 && hu_shape_elements(&in[1]) == 1) return HU_OK;
    hu_shape_print(&in[0], prediction, sizeof prediction);
    hu_shape_print(&in[1], target, sizeof target);
    return hu_fail(HU_ERR_SHAPE,
                   "%s: the targets have the shape %s per sample, expected one target for each row "
                   "of %s",
                   op, target, prediction);
}

/* The class that a target names, NO_CLASS for what is not one of 0..classes-1, or IGNORED. */
static int64_t class_of(const hu_node_info *info, float target) {
    const hu_row_loss_attrs *attrs = info->attrs;
    int64_t classes = hu_channels(&info->in[0]);
    if (attrs && attrs->ignores && target == attrs->ignored) return IGNORED;
    if (!(target >= 0 && (double)target < (double)classes)) return NO_CLASS;
    return (float)(int64_t)target == target ? (int64_t)target : NO_CLASS;
}

static int64_t rows_of(const hu_node_info *info) {
    return hu_shape_elements(&info->in[1]);
}

/* Units are the rows that are not ignored; one without a class counts, and its loss is NaN. */
static int64_t check_target(const hu_node_info *info, int64_t count, const float *target,
                            hu_round_counts *counts) {
    int64_t counted = 0, n = count * rows_of(info);
    for (int64_t r = 0; r < n; r++) {
        int64_t c = class_of(info, target[r]);
        counted += c != IGNORED;
        counts->nan += c == NO_CLASS;
    }
    counts->elements += (uint64_t)n;
    return counted;
}

/* ---- sums ---- */

/* The loss of a row x [classes] whose class is known. */
typedef double (*row_loss)(int64_t classes, const float *x, int64_t class);

/* The rows of one sample in order. */
static double sample_loss(const hu_op_call *call, row_loss loss, int64_t sample) {
    const hu_node_info *info = call->info;
    int64_t classes = hu_channels(&info->in[0]), rows = rows_of(info), counted = 0;
    double sum = 0;
    for (int64_t r = sample * rows; r < (sample + 1) * rows; r++) {
        int64_t class = class_of(info, call->in[1][r]);
        if (class == IGNORED) continue;
        double row = class < 0 ? (double)NAN : loss(classes, call->in[0] + r * classes, class);
        sum = counted++ ? sum + row : row; /* the sum of one row is that row, -0 included */
    }
    return sum;
}

/* in[0] [count, rows, classes], in[1] [count, rows] -> out[0] [count] */
static void forward(const hu_op_call *call, row_loss loss) {
    for (int64_t s = 0; s < call->count; s++) call->out[0][s] = (float)sample_loss(call, loss, s);
}

/* Index of the first largest entry; NO_CLASS if there is a NaN. */
static int64_t arg_max(int64_t classes, const float *x) {
    int64_t best = 0;
    for (int64_t c = 0; c < classes; c++) {
        if (x[c] != x[c]) return NO_CLASS;
        if (x[c] > x[best]) best = c;
    }
    return best;
}

/* Rows of the chunk whose largest entry is the target. */
static int64_t correct_rows(const hu_op_call *call) {
    const hu_node_info *info = call->info;
    int64_t classes = hu_channels(&info->in[0]), correct = 0;
    for (int64_t r = 0; r < call->count * rows_of(info); r++) {
        int64_t class = class_of(info, call->in[1][r]);
        correct += class >= 0 && arg_max(classes, call->in[0] + r * classes) == class;
    }
    return correct;
}

static void reduce(const hu_op_call *call, hu_pass pass, row_loss loss) {
    double sum = 0;
    if (pass == HU_BACKWARD) return;
    for (int64_t s = 0; s < call->count; s++) sum += sample_loss(call, loss, s);
    call->partial[HU_LOSS_SUM] = sum;
    call->partial[HU_LOSS_METRIC] = (double)correct_rows(call);
}

/* A class does not move: the gradient of the targets [count, rows], where somebody wants it, is 0.
 */
static void clear_target_gradient(const hu_op_call *call) {
    size_t n = (size_t)(call->count * rows_of(call->info));
    if (call->din[1]) memset(call->din[1], 0, n * sizeof *call->din[1]);
}

/* ---- nll ---- */

static hu_status nll_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                           hu_shape *out) {
    (void)attrs, (void)n_in;
    return row_loss_shape("nll", in, n_out, out);
}

static double nll_row(int64_t classes, const float *x, int64_t class) {
    (void)classes;
    return -(double)x[class];
}

static void nll_forward(const hu_op_call *call) {
    forward(call, nll_row);
}

static void nll_reduce(const hu_op_call *call, hu_pass pass) {
    reduce(call, pass, nll_row);
}

/* dx [count, rows, classes] is -dout of the sample at each row's class, 0 elsewhere. */
static void nll_backward(const hu_op_call *call) {
    const hu_node_info *info = call->info;
    int64_t classes = hu_channels(&info->in[0]), rows = rows_of(info);
    clear_target_gradient(call);
    if (!call->din[0]) return;
    memset(call->din[0], 0, (size_t)(call->count * rows * classes) * sizeof(float));
    for (int64_t r = 0; r < call->count * rows; r++) {
        int64_t class = class_of(info, call->in[1][r]);
        if (class >= 0) call->din[0][r * classes + class] = -call->dout[0][r / rows];
    }
}

const hu_op hu_op_nll = {.name = "nll",
                         .attrs_bytes = sizeof(hu_row_loss_attrs),
                         .attributes = row_loss_attributes,
                         HU_LOSS_RECORD,
                         .shape = nll_shape,
                         .check_target = check_target,
                         .saves = HU_SAVE_INPUT_1,
                         .reduce = nll_reduce,
                         .forward = nll_forward,
                         .backward = nll_backward};

/* ---- softmax_cross_entropy: log_softmax and nll in one, without a tensor between them ---- */

static hu_status cross_entropy_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                                     hu_shape *out) {
    (void)attrs, (void)n_in;
    return row_loss_shape("softmax_cross_entropy", in, n_out, out);
}

static double cross_entropy_row(int64_t classes, const float *x, int64_t class) {
    return -hu_log_softmax(hu_softmax_row_of(classes, x), x[class]);
}

static void cross_entropy_forward(const hu_op_call *call) {
    forward(call, cross_entropy_row);
}

static void cross_entropy_reduce(const hu_op_call *call, hu_pass pass) {
    reduce(call, pass, cross_entropy_row);
}

/* dx = dy (softmax(x) - onehot(class)) of one row, dy the gradient of its loss. */
static void cross_entropy_row_gradient(int64_t classes, const float *x, int64_t class, double dy,
                                       float *dx) {
    hu_softmax_row row = hu_softmax_row_of(classes, x);
    for (int64_t c = 0; c < classes; c++) {
        double softmax = hu_exp(hu_log_softmax(row, x[c]));
        dx[c] = (float)(dy * (softmax - (double)(c == class)));
    }
}

/* x, dx [count, rows, classes], dout[0] [count]. A row without a class gives NaN as its loss does.
 */
static void cross_entropy_backward(const hu_op_call *call) {
    const hu_node_info *info = call->info;
    int64_t classes = hu_channels(&info->in[0]), rows = rows_of(info);
    clear_target_gradient(call);
    if (!call->din[0]) return;
    for (int64_t r = 0; r < call->count * rows; r++) {
        int64_t class = class_of(info, call->in[1][r]);
        double dy = class == NO_CLASS ? (double)NAN : (double)call->dout[0][r / rows];
        const float *x = call->in[0] + r * classes;
        float *dx = call->din[0] + r * classes;
        if (class == IGNORED)
            memset(dx, 0, (size_t)classes * sizeof *dx);
        else
            cross_entropy_row_gradient(classes, x, class, dy, dx);
    }
}

const hu_op hu_op_softmax_cross_entropy = {.name = "softmax_cross_entropy",
                                           .attrs_bytes = sizeof(hu_row_loss_attrs),
                                           .attributes = row_loss_attributes,
                                           HU_LOSS_RECORD,
                                           .shape = cross_entropy_shape,
                                           .check_target = check_target,
                                           .saves = HU_SAVE_INPUT_0 | HU_SAVE_INPUT_1,
                                           .reduce = cross_entropy_reduce,
                                           .forward = cross_entropy_forward,
                                           .backward = cross_entropy_backward};
