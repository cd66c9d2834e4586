/* ssd_loss: what a network says beside its anchors, against the boxes of a picture. All in double,
 * anchor after anchor, rounded once. Which anchors take part is a fact of the pass: the mask keeps
 * it for the backward pass. */
#include "op/loss_boxes.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "box/match.h"
#include "box/mine.h"
#include "box/offset.h"
#include "op/expect.h"
#include "op/loss.h"
#include "op/softmax_row.h"

/* Of all anchors of a picture whose boxes cannot be learned. */
enum { NO_BOXES = -4 };

/* ---- shapes ---- */

static hu_status ssd_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                           hu_shape *out) {
    const hu_box_loss_attrs *a = attrs;
    hu_status st;
    (void)n_in;
    HU_TRY(hu_anchors_check(&a->anchors));
    int64_t anchors = hu_anchors_count(&a->anchors);
    if (in[0].rank != 2 || in[0].extent[0] != anchors || in[0].extent[1] < HU_OFFSETS + 2)
        HU_TRY(hu_fail(HU_ERR_SHAPE,
                       "ssd_loss: found %" PRId64 " x %" PRId64
                       " numbers, expected a row of scores of 2 or more classes and %d offsets for "
                       "each of %" PRId64 " anchors",
                       in[0].extent[0], in[0].rank > 1 ? in[0].extent[1] : 1, HU_OFFSETS, anchors));
    if (in[1].rank != 2 || in[1].extent[1] != HU_BOX_NUMBERS || in[1].extent[0] > HU_TRUTHS_MAX)
        HU_TRY(hu_fail(HU_ERR_SHAPE,
                       "ssd_loss: found %" PRId64 " x %" PRId64
                       " numbers of boxes, expected at most %d rows of %d",
                       in[1].extent[0], in[1].rank > 1 ? in[1].extent[1] : 1, HU_TRUTHS_MAX,
                       HU_BOX_NUMBERS));
    *n_out = 1;
    out[0] = (hu_shape){.rank = 0};
done:
    return st;
}

static int64_t anchors_of(const hu_node_info *info) {
    return info->in[0].extent[0];
}

/* The background among them. */
static int64_t classes_of(const hu_node_info *info) {
    return hu_channels(&info->in[0]) - HU_OFFSETS;
}

static int64_t target_numbers(const hu_node_info *info) {
    return info->in[1].extent[0] * HU_BOX_NUMBERS;
}

/* One number for each anchor. */
static size_t match_bytes(const hu_node_info *info) {
    return (size_t)anchors_of(info) * sizeof(int16_t);
}

/* Keys of mining, and behind them the matches of a pass that keeps no mask. */
static size_t key_bytes(const hu_node_info *info) {
    return hu_round_up((size_t)anchors_of(info) * sizeof(uint64_t), 64);
}

static size_t scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)state;
    return pass == HU_FORWARD ? key_bytes(info) + match_bytes(info) : 0;
}

/* ---- which anchors take part ---- */

static bool are_sound(const hu_node_info *info, const float *rows) {
    int64_t most = info->in[1].extent[0];
    for (int64_t i = 0; i < most; i++, rows += HU_BOX_NUMBERS)
        if (hu_box_is_there(rows) && !hu_box_is_sound(rows, classes_of(info) - 1)) return false;
    return true;
}

/* Units are the matched anchors. */
static int64_t check_target(const hu_node_info *info, int64_t count, const float *target,
                            hu_round_counts *counts) {
    const hu_box_loss_attrs *attrs = info->attrs;
    int64_t most = info->in[1].extent[0], units = 0;
    for (int64_t s = 0; s < count; s++, target += target_numbers(info)) {
        counts->nan += !are_sound(info, target);
        units += hu_match_ssd(&attrs->anchors, target, most, NULL);
    }
    counts->elements += (uint64_t)(count * target_numbers(info));
    return units;
}

/* Cross entropy of one row. */
static double class_loss(const hu_node_info *info, const float *x, int64_t class_number) {
    const hu_box_loss_attrs *attrs = info->attrs;
    if (attrs->takes_logs) return -(double)x[class_number];
    return -hu_log_softmax(hu_softmax_row_of(classes_of(info), x), x[class_number]);
}

/* x [anchors, row], rows [most, 5] -> match [anchors]: row of the box, HU_MINED, HU_UNMATCHED, or
 * NO_BOXES everywhere. */
static void choose(const hu_node_info *info, const float *x, const float *rows, uint64_t *keys,
                   int16_t *match) {
    const hu_box_loss_attrs *attrs = info->attrs;
    int64_t anchors = anchors_of(info), width = hu_channels(&info->in[0]), free = 0;
    int64_t matched = hu_match_ssd(&attrs->anchors, rows, info->in[1].extent[0], match);
    bool is_sound = are_sound(info, rows);
    for (int64_t a = 0; a < anchors && !is_sound; a++) match[a] = NO_BOXES;
    if (!is_sound || matched == 0) return;
    for (int64_t a = 0; a < anchors; a++)
        if (match[a] == HU_UNMATCHED)
            keys[free++] = hu_mine_key((float)class_loss(info, x + a * width, 0), (uint32_t)a);
    int64_t wanted = HU_MINED_PER_MATCH * matched;
    hu_mine(keys, free, wanted < free ? wanted : free, match);
}

/* ---- the loss of a picture ---- */

/* Class of an anchor that takes part, and the box it is to find (NULL: none). */
static int64_t class_of(const float *rows, int16_t match, const float **row) {
    *row = match >= 0 ? rows + match * HU_BOX_NUMBERS : NULL;
    return *row ? (int64_t)(*row)[HU_BOX_CLASS] + 1 : 0;
}

/* What the offsets of an anchor should be. */
static void wanted_offsets(const hu_node_info *info, int64_t anchor, const float *row,
                           double offsets[HU_OFFSETS]) {
    const hu_box_loss_attrs *attrs = info->attrs;
    hu_centred at = hu_anchor_at(&attrs->anchors, anchor);
    hu_box box = hu_box_of_row(row);
    hu_centred wanted = hu_box_centred(&box);
    hu_offset_encode(&at, &wanted, HU_OFFSET_SSD, offsets);
}

static double anchor_loss(const hu_node_info *info, const float *x, const float *rows,
                          int64_t anchor, int16_t match) {
    const float *row;
    double offsets[HU_OFFSETS], sum = class_loss(info, x, class_of(rows, match, &row));
    if (!row) return sum;
    wanted_offsets(info, anchor, row, offsets);
    for (int i = 0; i < HU_OFFSETS; i++)
        sum += hu_smooth_l1((double)x[classes_of(info) + i] - offsets[i]);
    return sum;
}

/* Sample s of the call; match [anchors] is written. */
static double sample_loss(const hu_op_call *call, int64_t s, int16_t *match) {
    const hu_node_info *info = call->info;
    int64_t anchors = anchors_of(info), width = hu_channels(&info->in[0]);
    const float *x = call->in[0] + s * anchors * width;
    const float *rows = call->in[1] + s * target_numbers(info);
    double sum = 0.0;
    choose(info, x, rows, call->scratch, match);
    if (match[0] == NO_BOXES) return (double)NAN;
    for (int64_t a = 0; a < anchors; a++)
        if (match[a] != HU_UNMATCHED) sum += anchor_loss(info, x + a * width, rows, a, match[a]);
    return sum;
}

static int16_t *match_of(const hu_op_call *call, int64_t s) {
    return (int16_t *)(void *)(call->mask + (size_t)s * match_bytes(call->info));
}

/* in[0] [count, anchors, row], in[1] [count, most, 5] -> out[0] [count] */
static void ssd_forward(const hu_op_call *call) {
    for (int64_t s = 0; s < call->count; s++)
        call->out[0][s] = (float)sample_loss(call, s, match_of(call, s));
}

static void ssd_reduce(const hu_op_call *call, hu_pass pass) {
    unsigned char *scratch = call->scratch;
    double sum = 0.0;
    if (pass == HU_BACKWARD) return;
    int16_t *match = (int16_t *)(void *)(scratch + key_bytes(call->info));
    for (int64_t s = 0; s < call->count; s++) sum += sample_loss(call, s, match);
    call->partial[HU_LOSS_SUM] = sum;
    call->partial[HU_LOSS_METRIC] = 0.0;
}

/* ---- gradients ---- */

/* dy (softmax(x) - onehot), or -dy at the class of log-probabilities. */
static void class_gradient(const hu_node_info *info, const float *x, int64_t class_number,
                           double dy, float *dx) {
    const hu_box_loss_attrs *attrs = info->attrs;
    int64_t classes = classes_of(info);
    hu_softmax_row row = {0};
    if (!attrs->takes_logs) row = hu_softmax_row_of(classes, x);
    for (int64_t c = 0; c < classes; c++) {
        double softmax = attrs->takes_logs ? 0.0 : hu_exp(hu_log_softmax(row, x[c]));
        dx[c] = (float)(dy * (softmax - (double)(c == class_number)));
    }
}

/* Of an anchor that takes part; dx [row] is zero. */
static void anchor_gradient(const hu_node_info *info, const float *x, const float *rows,
                            int64_t anchor, int16_t match, double dy, float *dx) {
    int64_t classes = classes_of(info);
    const float *row;
    double offsets[HU_OFFSETS];
    class_gradient(info, x, class_of(rows, match, &row), dy, dx);
    if (!row) return;
    wanted_offsets(info, anchor, row, offsets);
    for (int i = 0; i < HU_OFFSETS; i++)
        dx[classes + i] = (float)(dy * hu_smooth_l1_slope((double)x[classes + i] - offsets[i]));
}

static void sample_gradient(const hu_op_call *call, int64_t s) {
    const hu_node_info *info = call->info;
    int64_t anchors = anchors_of(info), width = hu_channels(&info->in[0]);
    const float *x = call->in[0] + s * anchors * width;
    const float *rows = call->in[1] + s * target_numbers(info);
    float *dx = call->din[0] + s * anchors * width;
    const int16_t *match = match_of(call, s);
    memset(dx, 0, (size_t)(anchors * width) * sizeof *dx);
    for (int64_t i = 0; i < anchors * width && match[0] == NO_BOXES; i++) dx[i] = NAN;
    for (int64_t a = 0; a < anchors; a++)
        if (match[a] >= 0 || match[a] == HU_MINED)
            anchor_gradient(info, x + a * width, rows, a, match[a], (double)call->dout[0][s],
                            dx + a * width);
}

/* Boxes do not move: their gradient, where somebody wants it, is 0. */
static void ssd_backward(const hu_op_call *call) {
    size_t n = (size_t)(call->count * target_numbers(call->info));
    if (call->din[1]) memset(call->din[1], 0, n * sizeof *call->din[1]);
    for (int64_t s = 0; s < call->count && call->din[0]; s++) sample_gradient(call, s);
}

const hu_op hu_op_ssd_loss = {.name = "ssd_loss",
                              .attrs_bytes = sizeof(hu_box_loss_attrs),
                              HU_LOSS_RECORD,
                              .shape = ssd_shape,
                              .check_target = check_target,
                              .saves = HU_SAVE_INPUT_0 | HU_SAVE_INPUT_1,
                              .mask_bytes = match_bytes,
                              .scratch_bytes = scratch_bytes,
                              .reduce = ssd_reduce,
                              .forward = ssd_forward,
                              .backward = ssd_backward};
