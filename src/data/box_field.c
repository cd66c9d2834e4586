#include "data/box_field.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* One side of a box along one axis: shift in shares of the side, then mirrored. In double, so that
 * what is not shifted stays as it is. */
static void move(double shift, bool flip, double *low, double *high) {
    double moved_low = *low - shift, moved_high = *high - shift;
    *low = flip ? 1.0 - moved_high : moved_low;
    *high = flip ? 1.0 - moved_low : moved_high;
}

static bool is_seen(double low, double high) {
    double centre = (low + high) / 2;
    return centre >= 0.0 && centre < 1.0;
}

void hu_boxes_fill(const float *boxes, int64_t count, int64_t most, int64_t height, int64_t width,
                   const hu_change *change, float *sample) {
    double dx = (double)change->shift_x / (double)width;
    double dy = (double)change->shift_y / (double)height;
    memset(sample, 0, (size_t)(most * HU_BOX_NUMBERS) * sizeof *sample);
    for (int64_t i = 0; i < most; i++, boxes += HU_BOX_NUMBERS, sample += HU_BOX_NUMBERS) {
        sample[HU_BOX_CLASS] = (float)HU_UNLABELLED;
        if (i >= count) continue;
        double x1 = boxes[HU_BOX_X1], x2 = boxes[HU_BOX_X2];
        double y1 = boxes[HU_BOX_Y1], y2 = boxes[HU_BOX_Y2];
        move(dx, change->flip, &x1, &x2);
        move(dy, false, &y1, &y2);
        if (!is_seen(x1, x2) || !is_seen(y1, y2)) continue;
        float left = (float)fmax(x1, 0.0), top = (float)fmax(y1, 0.0);
        float right = (float)fmin(x2, 1.0), bottom = (float)fmin(y2, 1.0);
        /* Of an area that float32 does not tell from none no offsets can be learned. */
        if (!(left < right) || !(top < bottom)) continue;
        sample[HU_BOX_X1] = left;
        sample[HU_BOX_Y1] = top;
        sample[HU_BOX_X2] = right;
        sample[HU_BOX_Y2] = bottom;
        sample[HU_BOX_CLASS] = boxes[HU_BOX_CLASS];
    }
}
