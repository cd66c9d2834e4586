#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/elementary.h"
#include "base/error.h"
#include "media/boxes.h"
#include "op/internal.h"

/* ---- box row ---- */

/* What losses of boxes have in common: a row of class scores, and the offsets of a
 * box beside an anchor or a region. All in double. */

/* One row that takes part, and what it should say. */
typedef struct hu_box_row {
    int64_t classes, class_number;
    const float *scores;       /* [classes] logits */
    bool takes_logs;           /* they are log-probabilities */
    const float *offsets;      /* [4]; NULL: the row is to find no box */
    double wanted[HU_OFFSETS]; /* what they should be */
    double beta;               /* where smooth L1 becomes linear */
} hu_box_row;

/* Makes a row find a box [5] beside an anchor or a region. */
static void hu_box_row_want(hu_box_row *row, const hu_centred *beside, const float *box,
                            hu_offset_scale scale) {
    hu_box corners = hu_box_of_row(box);
    hu_centred wanted = hu_box_centred(&corners);
    hu_offset_encode(beside, &wanted, scale, row->wanted);
}

/* Cross entropy of the class, and smooth L1 of the offsets. */
static double hu_box_row_class_loss(const hu_box_row *row) {
    float said = row->scores[row->class_number];
    if (row->takes_logs) return -(double)said;
    return -hu_log_softmax(hu_softmax_row_of(row->classes, row->scores), said);
}

static double hu_box_row_loss(const hu_box_row *row) {
    double sum = hu_box_row_class_loss(row);
    for (int i = 0; row->offsets && i < HU_OFFSETS; i++)
        sum += hu_smooth_l1((double)row->offsets[i] - row->wanted[i], row->beta);
    return sum;
}

/* dy (softmax(x) - onehot), or -dy at the class of log-probabilities. */
static void class_gradient(const hu_box_row *row, double dy, float *dx) {
    hu_softmax_row of = {0};
    if (!row->takes_logs) of = hu_softmax_row_of(row->classes, row->scores);
    for (int64_t c = 0; c < row->classes; c++) {
        double softmax = row->takes_logs ? 0.0 : hu_exp(hu_log_softmax(of, row->scores[c]));
        dx[c] = (float)(dy * (softmax - (double)(c == row->class_number)));
    }
}

/* dy times the slopes: dscores [classes], doffsets [4] (left alone where there are no offsets). */
static void hu_box_row_gradient(const hu_box_row *row, double dy, float *dscores, float *doffsets) {
    class_gradient(row, dy, dscores);
    for (int i = 0; row->offsets && i < HU_OFFSETS; i++) {
        double away = (double)row->offsets[i] - row->wanted[i];
        doffsets[i] = (float)(dy * hu_smooth_l1_slope(away, row->beta));
    }
}

hu_status hu_expect_boxes(const char *op, const hu_shape *boxes) {
    bool are_rows = boxes->rank == 2 && boxes->extent[1] == HU_BOX_NUMBERS;
    if (are_rows && boxes->extent[0] <= HU_TRUTHS_MAX) return HU_OK;
    return hu_fail(
        HU_ERR_SHAPE,
        "%s: found %" PRId64 " x %" PRId64 " numbers of boxes, expected at most %d rows of %d", op,
        boxes->extent[0], boxes->rank > 1 ? boxes->extent[1] : 1, HU_TRUTHS_MAX, HU_BOX_NUMBERS);
}

/* Whether all boxes of a picture [most, 5] can be learned; and of count pictures, as
 * hu_op.check_target counts. */
static bool hu_boxes_are_sound(const float *rows, int64_t most, int64_t classes) {
    for (int64_t i = 0; i < most; i++, rows += HU_BOX_NUMBERS)
        if (hu_box_is_valid(rows) && !hu_box_is_sound(rows, classes)) return false;
    return true;
}

static void hu_boxes_count(const hu_shape *boxes, int64_t classes, int64_t count,
                           const float *target, hu_round_counts *counts) {
    int64_t most = boxes->extent[0], numbers = most * HU_BOX_NUMBERS;
    for (int64_t s = 0; s < count; s++)
        counts->nan += !hu_boxes_are_sound(target + s * numbers, most, classes);
    counts->elements += (uint64_t)(count * numbers);
}

/* ---- Attributes of the losses beside anchors: ssd_loss and rpn_loss ---- */

/* Of all anchors of a picture whose boxes cannot be learned. */
enum { NO_BOXES = -4 };

/* ---- shapes ---- */

static bool is_sampled(const hu_node_info *info) {
    return ((const hu_box_loss_attrs *)info->attrs)->samples > 0;
}

/* least: classes, the background among them. */
static hu_status expect_rows(const char *op, const hu_box_loss_attrs *a, const hu_shape *rows,
                             int64_t least) {
    hu_status st;
    HU_TRY(hu_anchors_check(&a->anchors));
    int64_t anchors = hu_anchors_count(&a->anchors);
    if (rows->rank != 2 || rows->extent[0] != anchors || rows->extent[1] < HU_OFFSETS + least)
        HU_TRY(hu_fail(
            HU_ERR_SHAPE,
            "%s: found %" PRId64 " x %" PRId64 " numbers, expected a row of scores of %" PRId64
            " or more classes and %d offsets for each of %" PRId64 " anchors",
            op, rows->extent[0], rows->rank > 1 ? rows->extent[1] : 1, least, HU_OFFSETS, anchors));
done:
    return st;
}

static hu_status ssd_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                           hu_shape *out) {
    hu_status st;
    (void)n_in;
    HU_TRY(expect_rows("ssd_loss", attrs, &in[0], 2));
    HU_TRY(hu_expect_boxes("ssd_loss", &in[1]));
    *n_out = 1;
    out[0] = (hu_shape){.rank = 0};
done:
    return st;
}

static hu_status rpn_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                           hu_shape *out) {
    const hu_box_loss_attrs *a = attrs;
    hu_status st;
    (void)n_in;
    HU_TRY(expect_rows("rpn_loss", a, &in[0], 2));
    HU_TRY(hu_expect_boxes("rpn_loss", &in[1]));
    if (in[0].extent[1] != HU_OFFSETS + 2 || a->samples < 2)
        HU_TRY(hu_fail(HU_ERR_SHAPE,
                       "rpn_loss: found rows of %" PRId64 " numbers and %" PRId64
                       " samples, expected rows of 2 scores and %d offsets, and at least 2 samples",
                       in[0].extent[1], a->samples, HU_OFFSETS));
    *n_out = 1;
    out[0] = (hu_shape){.rank = 0};
done:
    return st;
}

static int64_t anchors_of(const hu_node_info *info) {
    return info->in[0].extent[0];
}

/* The background among them. */
static int64_t boxes_classes_of(const hu_node_info *info) {
    return hu_channels(&info->in[0]) - HU_OFFSETS;
}

/* Classes of the boxes: any, where things are all the same. */
static int64_t classes_of_boxes(const hu_node_info *info) {
    return is_sampled(info) ? INT32_MAX : boxes_classes_of(info) - 1;
}

static int64_t target_numbers(const hu_node_info *info) {
    return info->in[1].extent[0] * HU_BOX_NUMBERS;
}

/* One number for each anchor. */
static size_t match_bytes(const hu_node_info *info) {
    return (size_t)anchors_of(info) * sizeof(int16_t);
}

/* Keys of a choice, and after them the matches of a pass that keeps no mask. */
static size_t key_bytes(const hu_node_info *info) {
    return hu_round_up((size_t)anchors_of(info) * sizeof(uint64_t), 64);
}

static size_t scratch_bytes(const hu_node_info *info, void *state, hu_pass pass) {
    (void)state;
    return pass == HU_FORWARD ? key_bytes(info) + match_bytes(info) : 0;
}

/* Units are the matched anchors, or pictures. */
static int64_t boxes_check_target(const hu_node_info *info, int64_t count, const float *target,
                                  hu_round_counts *counts) {
    const hu_box_loss_attrs *attrs = info->attrs;
    int64_t most = info->in[1].extent[0], units = 0;
    hu_boxes_count(&info->in[1], classes_of_boxes(info), count, target, counts);
    if (is_sampled(info)) return count;
    for (int64_t s = 0; s < count; s++)
        units += hu_match_ssd(&attrs->anchors, target + s * target_numbers(info), most, NULL);
    return units;
}

/* ---- which anchors take part ---- */

/* One picture of a call. */
typedef struct boxes_picture {
    const hu_op_call *call;
    int64_t s;
    const float *x, *rows; /* [anchors, row], [most, 5] */
} boxes_picture;

static boxes_picture picture_of(const hu_op_call *call, int64_t s) {
    int64_t numbers = hu_shape_elements(&call->info->in[0]);
    return (boxes_picture){call, s, call->in[0] + s * numbers,
                           call->in[1] + s * target_numbers(call->info)};
}

/* An anchor that takes part, and the box that it is to find: match is its row, or below 0. */
static hu_box_row boxes_row_of(const boxes_picture *p, int64_t anchor, int16_t match) {
    const hu_node_info *info = p->call->info;
    const hu_box_loss_attrs *attrs = info->attrs;
    const float *x = p->x + anchor * hu_channels(&info->in[0]);
    hu_box_row row = {
        .classes = boxes_classes_of(info), .scores = x, .takes_logs = attrs->takes_logs};
    if (match < 0) return row;
    const float *box = p->rows + match * HU_BOX_NUMBERS;
    hu_centred at = hu_anchor_at(&attrs->anchors, anchor);
    row.class_number = is_sampled(info) ? 1 : (int64_t)box[HU_BOX_CLASS] + 1;
    row.offsets = x + row.classes;
    row.beta = is_sampled(info) ? 1.0 / 9.0 : 1.0;
    hu_box_row_want(&row, &at, box, is_sampled(info) ? HU_OFFSET_PLAIN : HU_OFFSET_SSD);
    return row;
}

/* The anchors without a box that the network takes for one. */
static void mine(const boxes_picture *p, int64_t matched, uint64_t *keys, int16_t *match) {
    int64_t anchors = anchors_of(p->call->info), free = 0;
    if (matched == 0) return;
    for (int64_t a = 0; a < anchors; a++) {
        if (match[a] != HU_UNMATCHED) continue;
        hu_box_row row = boxes_row_of(p, a, HU_UNMATCHED);
        keys[free++] = hu_hard_negative_key((float)hu_box_row_class_loss(&row), (uint32_t)a);
    }
    hu_hard_negatives(keys, free, HU_MINED_PER_MATCH * matched, match);
}

/* Keys of the anchors of one kind: those with a box by falling words, or those without by rising
 * ones. */
static int64_t draw_lots(const boxes_picture *p, bool have_boxes, const int16_t *match,
                         uint64_t *keys) {
    int64_t anchors = anchors_of(p->call->info), count = 0;
    hu_noise noise = hu_noise_of(p->call, anchors);
    for (int64_t a = 0; a < anchors; a++) {
        if (have_boxes ? match[a] < 0 : match[a] != HU_UNMATCHED) continue;
        uint32_t word = hu_noise_word(&noise, p->s * anchors + a);
        keys[count++] = hu_lot_key(have_boxes ? ~word : word, (uint32_t)a);
    }
    return count;
}

/* Those that take part by lot: some of the matched ones, and some of the others as HU_MINED. */
static void sample(const boxes_picture *p, int64_t matched, uint64_t *keys, int16_t *match) {
    const hu_box_loss_attrs *attrs = p->call->info->attrs;
    int64_t most = attrs->samples / 2, left = attrs->samples - (matched < most ? matched : most);
    if (matched > most) {
        int64_t out = hu_first_keys(keys, draw_lots(p, true, match, keys), matched - most);
        for (int64_t i = matched - out; i < matched; i++) match[(uint32_t)keys[i]] = HU_IGNORED;
    }
    hu_hard_negatives(keys, draw_lots(p, false, match, keys), left, match);
}

/* match [anchors]: row of the box, HU_MINED, others that take no part, or NO_BOXES everywhere. */
static void choose(const boxes_picture *p, uint64_t *keys, int16_t *match) {
    const hu_node_info *info = p->call->info;
    const hu_box_loss_attrs *attrs = info->attrs;
    int64_t anchors = anchors_of(info), most = info->in[1].extent[0];
    bool are_sound = hu_boxes_are_sound(p->rows, most, classes_of_boxes(info));
    for (int64_t a = 0; a < anchors && !are_sound; a++) match[a] = NO_BOXES;
    if (!are_sound) return;
    if (is_sampled(info))
        sample(p, hu_match_proposals(&attrs->anchors, p->rows, most, match), keys, match);
    else
        mine(p, hu_match_ssd(&attrs->anchors, p->rows, most, match), keys, match);
}

static bool takes_part(int16_t match) {
    return match >= 0 || match == HU_MINED;
}

/* What the sum of a picture is divided by: those that take part where they are drawn by lot. */
static double divisor_of(const hu_node_info *info, const int16_t *match) {
    int64_t count = 0;
    for (int64_t a = 0; a < anchors_of(info) && is_sampled(info); a++)
        count += takes_part(match[a]);
    return count > 0 ? (double)count : 1.0;
}

/* Numbers of anchors that take no part must not hide that something is wrong. */
static bool has_nan(const hu_node_info *info, const float *x) {
    int64_t numbers = hu_shape_elements(&info->in[0]);
    for (int64_t i = 0; i < numbers && is_sampled(info); i++)
        if (x[i] != x[i]) return true;
    return false;
}

/* ---- the loss of a picture ---- */

/* Sample s of the call; match [anchors] is written. */
static double boxes_sample_loss(const hu_op_call *call, int64_t s, int16_t *match) {
    const hu_node_info *info = call->info;
    boxes_picture p = picture_of(call, s);
    double sum = 0.0;
    choose(&p, call->scratch, match);
    if (match[0] == NO_BOXES || has_nan(info, p.x)) return (double)NAN;
    for (int64_t a = 0; a < anchors_of(info); a++) {
        if (!takes_part(match[a])) continue;
        hu_box_row row = boxes_row_of(&p, a, match[a]);
        sum += hu_box_row_loss(&row);
    }
    return sum / divisor_of(info, match);
}

static int16_t *match_of(const hu_op_call *call, int64_t s) {
    return (int16_t *)(void *)(call->mask + (size_t)s * match_bytes(call->info));
}

/* in[0] [count, anchors, row], in[1] [count, most, 5] -> out[0] [count] */
static void boxes_forward(const hu_op_call *call) {
    for (int64_t s = 0; s < call->count; s++)
        call->out[0][s] = (float)boxes_sample_loss(call, s, match_of(call, s));
}

static void boxes_reduce(const hu_op_call *call, hu_pass pass) {
    unsigned char *scratch = call->scratch;
    double sum = 0.0;
    if (pass == HU_BACKWARD) return;
    int16_t *match = (int16_t *)(void *)(scratch + key_bytes(call->info));
    for (int64_t s = 0; s < call->count; s++) sum += boxes_sample_loss(call, s, match);
    call->partial[HU_LOSS_SUM] = sum;
    call->partial[HU_LOSS_METRIC] = 0.0;
}

/* ---- gradients ---- */

static void boxes_sample_gradient(const hu_op_call *call, int64_t s) {
    const hu_node_info *info = call->info;
    int64_t anchors = anchors_of(info), width = hu_channels(&info->in[0]);
    boxes_picture p = picture_of(call, s);
    float *dx = call->din[0] + s * anchors * width;
    const int16_t *match = match_of(call, s);
    double dy = (double)call->dout[0][s] / divisor_of(info, match);
    bool is_bad = match[0] == NO_BOXES || has_nan(info, p.x);
    memset(dx, 0, (size_t)(anchors * width) * sizeof *dx);
    for (int64_t i = 0; i < anchors * width && is_bad; i++) dx[i] = NAN;
    for (int64_t a = 0; a < anchors && !is_bad; a++) {
        if (!takes_part(match[a])) continue;
        hu_box_row row = boxes_row_of(&p, a, match[a]);
        hu_box_row_gradient(&row, dy, dx + a * width, dx + a * width + row.classes);
    }
}

/* Boxes do not move: their gradient, where somebody wants it, is 0. */
static void boxes_backward(const hu_op_call *call) {
    size_t n = (size_t)(call->count * target_numbers(call->info));
    if (call->din[1]) memset(call->din[1], 0, n * sizeof *call->din[1]);
    for (int64_t s = 0; s < call->count && call->din[0]; s++) boxes_sample_gradient(call, s);
}

static const hu_attribute box_loss_attributes[] = {
    {HU_ATTRIBUTE_ANCHORS, "anchors", offsetof(hu_box_loss_attrs, anchors), NAN, 0, 0},
    {HU_ATTRIBUTE_FLAG, "clipped", offsetof(hu_box_loss_attrs, anchors.is_clipped), 0, 0, 0},
    {HU_ATTRIBUTE_WHOLE, "most", offsetof(hu_box_loss_attrs, anchors.most), 0, 0, INFINITY},
    {HU_ATTRIBUTE_FLAG, "takes_logs", offsetof(hu_box_loss_attrs, takes_logs), 0, 0, 0},
    {HU_ATTRIBUTE_WHOLE, "samples", offsetof(hu_box_loss_attrs, samples), 0, 0, INFINITY},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

#define BOX_LOSS                                                                                   \
    .attrs_bytes = sizeof(hu_box_loss_attrs), .attributes = box_loss_attributes,                   \
    .check_target = boxes_check_target, .saves = HU_SAVE_INPUT_0 | HU_SAVE_INPUT_1,                \
    .mask_bytes = match_bytes, .scratch_bytes = scratch_bytes, .reduce = boxes_reduce,             \
    .forward = boxes_forward, .backward = boxes_backward

const hu_op hu_op_ssd_loss = {.name = "ssd_loss", .shape = ssd_shape, HU_LOSS_RECORD, BOX_LOSS};

const hu_op hu_op_rpn_loss = {.name = "rpn_loss", .shape = rpn_shape, HU_LOSS_RECORD, BOX_LOSS};

/* ---- Attributes of roi_loss ---- */

/* Numbers of a row for each class: its score and its offsets. */
enum { PER_CLASS = 1 + HU_OFFSETS };

static hu_status roi_shape(const void *attrs, int n_in, const hu_shape *in, int *n_out,
                           hu_shape *out) {
    const hu_region_loss_attrs *a = attrs;
    hu_status st;
    (void)n_in;
    HU_TRY(hu_expect_rank("roi_loss", &in[0], 2));
    HU_TRY(hu_expect_boxes("roi_loss", &in[1]));
    HU_TRY(hu_expect_rank("roi_loss", &in[2], 2));
    bool are_rows = in[0].extent[1] % PER_CLASS == 0 && in[0].extent[1] >= 2 * PER_CLASS;
    bool have_regions = in[2].extent[1] == HU_REGION_NUMBERS && in[2].extent[0] == in[0].extent[0];
    if (!are_rows || !have_regions || a->picture.height < 1 || a->picture.width < 1)
        HU_TRY(hu_fail(HU_ERR_SHAPE,
                       "roi_loss: found %" PRId64 " x %" PRId64 " numbers and %" PRId64
                       " x %" PRId64 " of regions in a picture of %" PRId64 " x %" PRId64
                       ", expected for each region of %d numbers a score and %d offsets of 2 or "
                       "more classes",
                       in[0].extent[0], in[0].extent[1], in[2].extent[0], in[2].extent[1],
                       a->picture.height, a->picture.width, HU_REGION_NUMBERS, HU_OFFSETS));
    *n_out = 1;
    out[0] = (hu_shape){.rank = 0};
done:
    return st;
}

static int64_t regions_classes_of(const hu_node_info *info) {
    return hu_channels(&info->in[0]) / PER_CLASS;
}

static int64_t regions_check_target(const hu_node_info *info, int64_t count, const float *target,
                                    hu_round_counts *counts) {
    hu_boxes_count(&info->in[1], regions_classes_of(info) - 1, count, target, counts);
    return count;
}

/* One picture of a call. */
typedef struct regions_picture {
    const hu_node_info *info;
    const float *x, *rows, *regions; /* [R, row], [most, 5], [R, 4] */
    hu_truths truths;                /* of rows */
    bool is_sound;
    double divisor;
} regions_picture;

static void look_at(const hu_op_call *call, int64_t s, regions_picture *p) {
    const hu_node_info *info = call->info;
    int64_t most = info->in[1].extent[0], count = 0;
    p->info = info;
    p->x = call->in[0] + s * hu_shape_elements(&info->in[0]);
    p->rows = call->in[1] + s * hu_shape_elements(&info->in[1]);
    p->regions = call->in[2] + s * hu_shape_elements(&info->in[2]);
    for (int64_t r = 0; r < info->in[2].extent[0]; r++)
        count += hu_roi_is_valid(p->regions + r * HU_REGION_NUMBERS);
    hu_truths_read(p->rows, most, &p->truths);
    p->is_sound = hu_boxes_are_sound(p->rows, most, regions_classes_of(info) - 1);
    p->divisor = count > 0 ? (double)count : 1.0;
}

/* Of region r what it should say; false: it is none. */
static bool regions_row_of(const regions_picture *p, int64_t r, hu_box_row *row) {
    const hu_region_loss_attrs *attrs = p->info->attrs;
    const float *region = p->regions + r * HU_REGION_NUMBERS;
    *row = (hu_box_row){.classes = regions_classes_of(p->info),
                        .scores = p->x + r * hu_channels(&p->info->in[0]),
                        .beta = 1.0};
    if (!hu_roi_is_valid(region)) return false;
    int64_t found = hu_roi_match(region, attrs->picture, &p->truths);
    if (found < 0) return true;
    const float *box = p->rows + found * HU_BOX_NUMBERS;
    hu_box corners = hu_roi_box(region, attrs->picture);
    hu_centred beside = hu_box_centred(&corners);
    row->class_number = (int64_t)box[HU_BOX_CLASS] + 1;
    row->offsets = row->scores + row->classes + row->class_number * HU_OFFSETS;
    hu_box_row_want(row, &beside, box, HU_OFFSET_SSD);
    return true;
}

static double regions_sample_loss(const hu_op_call *call, int64_t s) {
    regions_picture p;
    double sum = 0.0;
    hu_box_row row;
    look_at(call, s, &p);
    if (!p.is_sound) return (double)NAN;
    for (int64_t r = 0; r < call->info->in[2].extent[0]; r++)
        if (regions_row_of(&p, r, &row)) sum += hu_box_row_loss(&row);
    return sum / p.divisor;
}

/* in[0] [count, R, row], in[1] [count, most, 5], in[2] [count, R, 4] -> out[0] [count] */
static void roi_forward(const hu_op_call *call) {
    for (int64_t s = 0; s < call->count; s++) call->out[0][s] = (float)regions_sample_loss(call, s);
}

static void roi_reduce(const hu_op_call *call, hu_pass pass) {
    double sum = 0.0;
    if (pass == HU_BACKWARD) return;
    for (int64_t s = 0; s < call->count; s++) sum += regions_sample_loss(call, s);
    call->partial[HU_LOSS_SUM] = sum;
    call->partial[HU_LOSS_METRIC] = 0.0;
}

static void regions_sample_gradient(const hu_op_call *call, int64_t s) {
    const hu_node_info *info = call->info;
    int64_t numbers = hu_shape_elements(&info->in[0]), width = hu_channels(&info->in[0]);
    regions_picture p;
    look_at(call, s, &p);
    float *dx = call->din[0] + s * numbers;
    double dy = (double)call->dout[0][s] / p.divisor;
    hu_box_row row;
    memset(dx, 0, (size_t)numbers * sizeof *dx);
    for (int64_t i = 0; i < numbers && !p.is_sound; i++) dx[i] = NAN;
    for (int64_t r = 0; r < info->in[2].extent[0] && p.is_sound; r++) {
        if (!regions_row_of(&p, r, &row)) continue;
        float *doffsets = dx + r * width + row.classes + row.class_number * HU_OFFSETS;
        hu_box_row_gradient(&row, dy, dx + r * width, doffsets);
    }
}

/* Boxes and regions do not move. */
static void roi_backward(const hu_op_call *call) {
    for (int i = 1; i < call->info->n_in; i++) {
        size_t n = (size_t)(call->count * hu_shape_elements(&call->info->in[i]));
        if (call->din[i]) memset(call->din[i], 0, n * sizeof *call->din[i]);
    }
    for (int64_t s = 0; s < call->count && call->din[0]; s++) regions_sample_gradient(call, s);
}

static const hu_attribute region_loss_attributes[] = {
    {HU_ATTRIBUTE_PAIR, "picture", offsetof(hu_region_loss_attrs, picture), NAN, 0, 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0, 0, 0},
};

const hu_op hu_op_roi_loss = {.name = "roi_loss",
                              .attrs_bytes = sizeof(hu_region_loss_attrs),
                              .attributes = region_loss_attributes,
                              HU_LOSS_RECORD_OF(3),
                              .shape = roi_shape,
                              .check_target = regions_check_target,
                              .saves = HU_SAVE_ALL_INPUTS,
                              .reduce = roi_reduce,
                              .forward = roi_forward,
                              .backward = roi_backward};
