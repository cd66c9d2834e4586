#include "task/picture.h"

#include "base/error.h"

hu_status hu_picture_outputs(const char *task, const hu_field *const *fields, int64_t *outputs) {
    enum { IMAGE_RANK = 3 };
    const hu_field *image = fields[1];
    *outputs = image->rank > 0 ? image->extent[image->rank - 1] : 1;
    if (image->rank == IMAGE_RANK && image->type == HU_FIELD_U8) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "field '%s': found rank %d, the task %s needs pictures of bytes", image->name,
                   image->rank, task);
}

hu_shape hu_picture_head(const hu_task_choice *choice) {
    return choice->shapes.value[1];
}

/* NaN is black. */
static uint8_t byte_of(double x) {
    if (!(x > 0.0)) return 0;
    return (uint8_t)(x > 1.0 ? 255.0 : x * 255.0 + 0.5);
}

void hu_picture_paint(const hu_metric_call *sample, bool is_truth, uint8_t *pixels) {
    enum { COLOURS = 3 };
    for (int64_t r = 0; r < sample->rows; r++)
        for (int c = 0; c < COLOURS; c++) {
            int64_t at = r * sample->outputs + (sample->outputs == COLOURS ? c : 0);
            double x = (double)(is_truth ? sample->target : sample->prediction)[at];
            if (!is_truth && sample->loss->predicted) x = sample->loss->predicted(x);
            pixels[r * COLOURS + c] = byte_of(x);
        }
}
