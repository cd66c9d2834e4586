/* box/offset.h - boxes as four numbers beside an anchor: what a network says of them. */
#ifndef HU_BOX_OFFSET_H
#define HU_BOX_OFFSET_H
#include "box/box.h"

enum { HU_OFFSETS = 4 };

/* What the offsets of centres and of logarithms of sizes are divided by. */
typedef struct hu_offset_scale {
    double centre, size;
} hu_offset_scale;

/* SSD and the last head of Faster-RCNN; its proposals. */
#define HU_OFFSET_SSD ((hu_offset_scale){0.1, 0.2})
#define HU_OFFSET_PLAIN ((hu_offset_scale){1.0, 1.0})

/* ((gx - ax) / aw, (gy - ay) / ah) / centre, (log(gw / aw), log(gh / ah)) / size. */
void hu_offset_encode(const hu_centred *anchor, const hu_centred *box, hu_offset_scale scale,
                      double offsets[HU_OFFSETS]);

/* The other way; logarithms of sizes end at log(1000 / 16), so that no box is infinite. */
hu_centred hu_offset_decode(const hu_centred *anchor, const float *offsets, hu_offset_scale scale);

#endif
