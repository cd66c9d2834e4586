#include "box/region.h"

hu_box hu_region_box(const float *region, hu_picture picture) {
    double width = (double)picture.width, height = (double)picture.height;
    return (hu_box){(double)region[0] / width, (double)region[1] / height,
                    (double)region[2] / width, (double)region[3] / height};
}

void hu_region_write(const hu_box *box, hu_picture picture, float *region) {
    double width = (double)picture.width, height = (double)picture.height;
    region[0] = (float)(box->x1 * width);
    region[1] = (float)(box->y1 * height);
    region[2] = (float)(box->x2 * width);
    region[3] = (float)(box->y2 * height);
}

bool hu_region_is_there(const float *region) {
    return region[2] > region[0] && region[3] > region[1];
}

int64_t hu_region_match(const float *region, hu_picture picture, const hu_truths *truths) {
    const double enough = 0.5;
    double overlap;
    hu_box box = hu_region_box(region, picture);
    int64_t best = hu_match_box(truths, &box, &overlap);
    return overlap >= enough ? best : HU_UNMATCHED;
}
