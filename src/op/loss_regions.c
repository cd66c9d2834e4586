/* roi_loss: what a network says of regions, against the boxes of a picture. All in double, region
 * after region, rounded once. What a region shows follows from the inputs: nothing is kept. */
#include "op/loss_regions.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "box/anchors.h"
#include "op/box_row.h"
#include "op/expect.h"
#include "op/loss.h"

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

static int64_t classes_of(const hu_node_info *info) {
    return hu_channels(&info->in[0]) / PER_CLASS;
}

static int64_t check_target(const hu_node_info *info, int64_t count, const float *target,
                            hu_round_counts *counts) {
    hu_boxes_count(&info->in[1], classes_of(info) - 1, count, target, counts);
    return count;
}

/* One picture of a call. */
typedef struct picture {
    const hu_node_info *info;
    const float *x, *rows, *regions; /* [R, row], [most, 5], [R, 4] */
    hu_truths truths;                /* of rows */
    bool is_sound;
    double divisor;
} picture;

static void look_at(const hu_op_call *call, int64_t s, picture *p) {
    const hu_node_info *info = call->info;
    int64_t most = info->in[1].extent[0], count = 0;
    p->info = info;
    p->x = call->in[0] + s * hu_shape_elements(&info->in[0]);
    p->rows = call->in[1] + s * hu_shape_elements(&info->in[1]);
    p->regions = call->in[2] + s * hu_shape_elements(&info->in[2]);
    for (int64_t r = 0; r < info->in[2].extent[0]; r++)
        count += hu_region_is_there(p->regions + r * HU_REGION_NUMBERS);
    hu_truths_read(p->rows, most, &p->truths);
    p->is_sound = hu_boxes_are_sound(p->rows, most, classes_of(info) - 1);
    p->divisor = count > 0 ? (double)count : 1.0;
}

/* Of region r what it should say; false: it is none. */
static bool row_of(const picture *p, int64_t r, hu_box_row *row) {
    const hu_region_loss_attrs *attrs = p->info->attrs;
    const float *region = p->regions + r * HU_REGION_NUMBERS;
    *row = (hu_box_row){.classes = classes_of(p->info),
                        .scores = p->x + r * hu_channels(&p->info->in[0]),
                        .beta = 1.0};
    if (!hu_region_is_there(region)) return false;
    int64_t found = hu_region_match(region, attrs->picture, &p->truths);
    if (found < 0) return true;
    const float *box = p->rows + found * HU_BOX_NUMBERS;
    hu_box corners = hu_region_box(region, attrs->picture);
    hu_centred beside = hu_box_centred(&corners);
    row->class_number = (int64_t)box[HU_BOX_CLASS] + 1;
    row->offsets = row->scores + row->classes + row->class_number * HU_OFFSETS;
    hu_box_row_want(row, &beside, box, HU_OFFSET_SSD);
    return true;
}

static double sample_loss(const hu_op_call *call, int64_t s) {
    picture p;
    double sum = 0.0;
    hu_box_row row;
    look_at(call, s, &p);
    if (!p.is_sound) return (double)NAN;
    for (int64_t r = 0; r < call->info->in[2].extent[0]; r++)
        if (row_of(&p, r, &row)) sum += hu_box_row_loss(&row);
    return sum / p.divisor;
}

/* in[0] [count, R, row], in[1] [count, most, 5], in[2] [count, R, 4] -> out[0] [count] */
static void roi_forward(const hu_op_call *call) {
    for (int64_t s = 0; s < call->count; s++) call->out[0][s] = (float)sample_loss(call, s);
}

static void roi_reduce(const hu_op_call *call, hu_pass pass) {
    double sum = 0.0;
    if (pass == HU_BACKWARD) return;
    for (int64_t s = 0; s < call->count; s++) sum += sample_loss(call, s);
    call->partial[HU_LOSS_SUM] = sum;
    call->partial[HU_LOSS_METRIC] = 0.0;
}

static void sample_gradient(const hu_op_call *call, int64_t s) {
    const hu_node_info *info = call->info;
    int64_t numbers = hu_shape_elements(&info->in[0]), width = hu_channels(&info->in[0]);
    picture p;
    look_at(call, s, &p);
    float *dx = call->din[0] + s * numbers;
    double dy = (double)call->dout[0][s] / p.divisor;
    hu_box_row row;
    memset(dx, 0, (size_t)numbers * sizeof *dx);
    for (int64_t i = 0; i < numbers && !p.is_sound; i++) dx[i] = NAN;
    for (int64_t r = 0; r < info->in[2].extent[0] && p.is_sound; r++) {
        if (!row_of(&p, r, &row)) continue;
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
    for (int64_t s = 0; s < call->count && call->din[0]; s++) sample_gradient(call, s);
}

const hu_op hu_op_roi_loss = {.name = "roi_loss",
                              .attrs_bytes = sizeof(hu_region_loss_attrs),
                              HU_LOSS_RECORD_OF(3),
                              .shape = roi_shape,
                              .check_target = check_target,
                              .saves = HU_SAVE_ALL_INPUTS,
                              .reduce = roi_reduce,
                              .forward = roi_forward,
                              .backward = roi_backward};
