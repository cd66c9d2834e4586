#include "box/offset.h"

#include "base/elementary.h"

void hu_offset_encode(const hu_centred *anchor, const hu_centred *box, hu_offset_scale scale,
                      double offsets[HU_OFFSETS]) {
    offsets[0] = (box->cx - anchor->cx) / anchor->w / scale.centre;
    offsets[1] = (box->cy - anchor->cy) / anchor->h / scale.centre;
    offsets[2] = hu_log(box->w / anchor->w) / scale.size;
    offsets[3] = hu_log(box->h / anchor->h) / scale.size;
}

/* A size beside that of the anchor. */
static double stretched(double side, double logarithm) {
    const double most = 1000.0 / 16.0;
    double factor = hu_exp(logarithm);
    return side * (factor > most ? most : factor);
}

hu_centred hu_offset_decode(const hu_centred *anchor, const float *offsets, hu_offset_scale scale) {
    return (hu_centred){anchor->cx + (double)offsets[0] * scale.centre * anchor->w,
                        anchor->cy + (double)offsets[1] * scale.centre * anchor->h,
                        stretched(anchor->w, (double)offsets[2] * scale.size),
                        stretched(anchor->h, (double)offsets[3] * scale.size)};
}
