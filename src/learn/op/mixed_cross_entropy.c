#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/elementary.h"
#include "base/error.h"
#include "op/internal.h"

/* ---- loss mixed ---- */

/* mixed_cross_entropy: softmax and cross entropy of samples that are mixed of two
 * (op/attributes.h). in[0] [classes] logits, in[1] [] the class of a sample, in[2] [2] the class
 * that was mixed in and its weight w. A sample's loss is (1 - w) (-log p_a) + w (-log p_b); of that
 * a share is the mean over all classes, as in the other losses of rows. Evaluations count the class
 * alone. Source: Zhang et al., "mixup" (2018); Yun et al., "CutMix" (2019). */

enum { CLASS = 1, MIX = 2, OTHER = 0, WEIGHT = 1, NUMBERS = 2 };

static const hu_attribute mixed_attributes[] = {
    {HU_ATTRIBUTE_FLAG, "ignores", offsetof(hu_row_loss_attrs, ignores), 0, 0, 0},
    {HU_ATTRIBUTE_REAL, "ignored", offsetof(hu_row_loss_attrs, ignored), 0, 0, 0},
    {HU_ATTRIBUTE_REAL, "smoothing", offsetof(hu_row_loss_attrs, smoothing), 0, 0, 1},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

static hu_status mixed_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                             hu_shape *out) {
    const hu_row_loss_attrs *a = attrs;
    (void)n_in;
    *n_out = 1;
    out[0] = (hu_shape){.rank = 0};
    if (a && !(a->smoothing >= 0.0f && a->smoothing <= 1.0f))
        return hu_fail(HU_ERR_ARGUMENT, "mixed_cross_entropy: smoothing: found %g, expected 0 to 1",
                       (double)a->smoothing);
    if (in[0].rank == 1 && hu_shape_elements(&in[CLASS]) == 1 && in[MIX].rank == 1 &&
        in[MIX].extent[0] == NUMBERS)
        return HU_OK;
    return hu_fail(
        HU_ERR_SHAPE,
        "mixed_cross_entropy: found inputs of %d, %d and %d extents, expected one row of "
        "scores, a class, and another one with its weight",
        in[0].rank, in[CLASS].rank, in[MIX].rank);
}

static bool is_ignored(const hu_node_info *info, float target) {
    const hu_row_loss_attrs *attrs = info->attrs;
    return attrs && attrs->ignores && target == attrs->ignored;
}

/* Units are the samples that are not ignored; one without a class counts, and its loss is NaN. */
static int64_t mixed_check_target(const hu_node_info *info, int64_t count, const float *target,
                                  hu_round_counts *counts) {
    int64_t counted = 0, classes = hu_channels(&info->in[0]);
    for (int64_t s = 0; s < count; s++) {
        bool is_counted = !is_ignored(info, target[s]);
        counted += is_counted;
        counts->nan += is_counted && hu_whole_below(target[s], classes) < 0;
    }
    counts->elements += (uint64_t)count;
    return counted;
}

/* What a sample wants: its class, another one with a weight, and of all classes a share. */
typedef struct wish {
    const float *x;       /* [classes] */
    hu_softmax_row row;   /* of x */
    int64_t class, other; /* below 0: none */
    double weight, smoothing;
    bool is_ignored;
} wish;

static wish wish_of(const hu_op_call *call, int64_t s) {
    const hu_node_info *info = call->info;
    const hu_row_loss_attrs *attrs = info->attrs;
    int64_t classes = hu_channels(&info->in[0]);
    const float *mix = call->in[MIX] + s * NUMBERS;
    wish w = {.x = call->in[0] + s * classes,
              .class = hu_whole_below(call->in[CLASS][s], classes),
              .other = hu_whole_below(mix[OTHER], classes),
              .is_ignored = is_ignored(info, call->in[CLASS][s])};
    w.row = hu_softmax_row_of(classes, w.x);
    if (!call->training) return w;
    w.weight = (double)mix[WEIGHT];
    w.smoothing = attrs ? (double)attrs->smoothing : 0.0;
    return w;
}

static double loss_of(const hu_op_call *call, int64_t s) {
    int64_t classes = hu_channels(&call->info->in[0]);
    wish w = wish_of(call, s);
    if (w.is_ignored) return 0.0;
    if (w.class < 0 || (w.weight > 0.0 && w.other < 0)) return (double)NAN;
    double sum = (1.0 - w.weight) * -hu_log_softmax(w.row, w.x[w.class]), all = 0.0;
    if (w.weight > 0.0) sum += w.weight * -hu_log_softmax(w.row, w.x[w.other]);
    if (w.smoothing == 0.0) return sum;
    for (int64_t c = 0; c < classes; c++) all -= hu_log_softmax(w.row, w.x[c]);
    return (1.0 - w.smoothing) * sum + w.smoothing / (double)classes * all;
}

static void mixed_forward(const hu_op_call *call) {
    for (int64_t s = 0; s < call->count; s++) call->out[0][s] = (float)loss_of(call, s);
}

/* Is the class the first of the largest scores? Not where there is a NaN. */
static bool is_correct(int64_t classes, const wish *w) {
    if (w->class < 0) return false;
    for (int64_t c = 0; c < classes; c++) {
        bool is_below = c < w->class ? w->x[c] < w->x[w->class] : w->x[c] <= w->x[w->class];
        if (!is_below) return false;
    }
    return true;
}

static void mixed_reduce(const hu_op_call *call, hu_pass pass) {
    double sum = 0.0, correct = 0.0;
    if (pass == HU_BACKWARD) return;
    for (int64_t s = 0; s < call->count; s++) {
        wish w = wish_of(call, s);
        sum += loss_of(call, s);
        correct += is_correct(hu_channels(&call->info->in[0]), &w);
    }
    call->partial[HU_LOSS_SUM] = sum;
    call->partial[HU_LOSS_METRIC] = correct;
}

/* dx = dy (softmax(x) - t), t what a sample wants of each class. */
static void slopes(const wish *w, int64_t classes, double dy, float *dx) {
    for (int64_t c = 0; c < classes; c++) {
        double wanted = (1.0 - w->weight) * (c == w->class) + w->weight * (c == w->other);
        wanted = (1.0 - w->smoothing) * wanted + w->smoothing / (double)classes;
        dx[c] = (float)(dy * (hu_softmax(w->row, w->x[c]) - wanted));
    }
}

static void mixed_backward(const hu_op_call *call) {
    int64_t classes = hu_channels(&call->info->in[0]);
    size_t count = (size_t)call->count;
    if (call->din[CLASS]) memset(call->din[CLASS], 0, count * sizeof(float));
    if (call->din[MIX]) memset(call->din[MIX], 0, count * NUMBERS * sizeof(float));
    for (int64_t s = 0; call->din[0] && s < call->count; s++) {
        wish w = wish_of(call, s);
        float *dx = call->din[0] + s * classes;
        bool has_none = w.class < 0 || (w.weight > 0.0 && w.other < 0);
        if (w.is_ignored)
            memset(dx, 0, (size_t)classes * sizeof *dx);
        else
            slopes(&w, classes, has_none ? (double)NAN : (double)call->dout[0][s], dx);
    }
}

const hu_op hu_op_mixed_cross_entropy = {.name = "mixed_cross_entropy",
                                         .attrs_bytes = sizeof(hu_row_loss_attrs),
                                         .attributes = mixed_attributes,
                                         HU_LOSS_RECORD_OF(3),
                                         .shape = mixed_shape,
                                         .check_target = mixed_check_target,
                                         .saves = HU_SAVE_ALL_INPUTS,
                                         .reduce = mixed_reduce,
                                         .forward = mixed_forward,
                                         .backward = mixed_backward};
