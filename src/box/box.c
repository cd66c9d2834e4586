#include "box/box.h"

#include <math.h>

hu_box hu_box_of(const hu_centred *c) {
    return (hu_box){c->cx - c->w / 2, c->cy - c->h / 2, c->cx + c->w / 2, c->cy + c->h / 2};
}

hu_centred hu_box_centred(const hu_box *b) {
    return (hu_centred){(b->x1 + b->x2) / 2, (b->y1 + b->y2) / 2, b->x2 - b->x1, b->y2 - b->y1};
}

hu_box hu_box_of_row(const float *row) {
    return (hu_box){row[HU_BOX_X1], row[HU_BOX_Y1], row[HU_BOX_X2], row[HU_BOX_Y2]};
}

hu_box hu_box_clip(const hu_box *b) {
    return (hu_box){hu_share_inside(b->x1), hu_share_inside(b->y1), hu_share_inside(b->x2),
                    hu_share_inside(b->y2)};
}

double hu_box_area(const hu_box *b) {
    double width = b->x2 - b->x1, height = b->y2 - b->y1;
    return width > 0.0 && height > 0.0 ? width * height : 0.0;
}

/* Most pairs of boxes do not meet: they end at a comparison. */
double hu_box_iou(const hu_box *a, const hu_box *b) {
    double left = a->x1 > b->x1 ? a->x1 : b->x1, right = a->x2 < b->x2 ? a->x2 : b->x2;
    if (!(right > left)) return 0.0;
    double top = a->y1 > b->y1 ? a->y1 : b->y1, bottom = a->y2 < b->y2 ? a->y2 : b->y2;
    if (!(bottom > top)) return 0.0;
    double common = (right - left) * (bottom - top);
    return common / (hu_box_area(a) + hu_box_area(b) - common);
}

bool hu_box_is_there(const float *row) {
    return !(row[HU_BOX_CLASS] < 0.0f);
}

bool hu_box_is_difficult(const float *row, int64_t *class_number) {
    if (!(row[HU_BOX_CLASS] <= (float)HU_BOX_DIFFICULT)) return false;
    *class_number = HU_BOX_DIFFICULT - (int64_t)row[HU_BOX_CLASS];
    return true;
}

bool hu_box_is_sound(const float *row, int64_t classes) {
    float of_class = row[HU_BOX_CLASS];
    for (int i = 0; i < HU_BOX_CLASS; i++)
        if (!isfinite(row[i])) return false;
    /* Corners are float32: an area may be too small for it and still be one. */
    bool has_area = row[HU_BOX_X2] > row[HU_BOX_X1] && row[HU_BOX_Y2] > row[HU_BOX_Y1];
    return has_area && (double)of_class < (double)classes && of_class == floorf(of_class);
}
