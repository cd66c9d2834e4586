#include "op/box_row.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/softmax_row.h"
#include "box/anchors.h"

void hu_box_row_want(hu_box_row *row, const hu_centred *beside, const float *box,
                     hu_offset_scale scale) {
    hu_box corners = hu_box_of_row(box);
    hu_centred wanted = hu_box_centred(&corners);
    hu_offset_encode(beside, &wanted, scale, row->wanted);
}

double hu_box_row_class_loss(const hu_box_row *row) {
    float said = row->scores[row->class_number];
    if (row->takes_logs) return -(double)said;
    return -hu_log_softmax(hu_softmax_row_of(row->classes, row->scores), said);
}

double hu_box_row_loss(const hu_box_row *row) {
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

void hu_box_row_gradient(const hu_box_row *row, double dy, float *dscores, float *doffsets) {
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

bool hu_boxes_are_sound(const float *rows, int64_t most, int64_t classes) {
    for (int64_t i = 0; i < most; i++, rows += HU_BOX_NUMBERS)
        if (hu_box_is_there(rows) && !hu_box_is_sound(rows, classes)) return false;
    return true;
}

void hu_boxes_count(const hu_shape *boxes, int64_t classes, int64_t count, const float *target,
                    hu_round_counts *counts) {
    int64_t most = boxes->extent[0], numbers = most * HU_BOX_NUMBERS;
    for (int64_t s = 0; s < count; s++)
        counts->nan += !hu_boxes_are_sound(target + s * numbers, most, classes);
    counts->elements += (uint64_t)(count * numbers);
}
