/* kernel/conv/plan.h - the places of a convolution, sorted by the taps that reach them. */
#ifndef HU_KERNEL_CONV_PLAN_H
#define HU_KERNEL_CONV_PLAN_H
#include "kernel/conv/conv.h"

/* Places along one axis that the same taps reach: first + i * step, i < count. Tap j < taps is
 * k = tap + j * tap_step; at place i it reads source + i * source_step + j * tap_source. Without
 * taps everything but the places is 0. */
typedef struct hu_conv_run {
    int64_t first, step, count;
    int64_t tap, tap_step, taps;
    int64_t source, source_step, tap_source;
} hu_conv_run;

/* All runs of one axis. Every place is in one of them; owned by the plan. */
typedef struct hu_conv_axis {
    hu_conv_run *runs;
    int64_t count;
} hu_conv_axis;

/* From images [source_h, source_w, depth] to images [target_h, target_w, width], by weights packed
 * as [ceil(width / 16)][kernel_h][kernel_w][depth][16]. */
typedef struct hu_conv_gather {
    hu_conv_axis rows, columns;
    int64_t source_h, source_w, depth, target_h, target_w, width, kernel_h, kernel_w;
} hu_conv_gather;

struct hu_conv_plan {
    hu_conv conv;
    hu_conv_gather forward, data;
};

enum { HU_CONV_WIDTH = 16 }; /* channels of a panel of packed weights */

/* Panels of 16 that hold so many channels, the last filled up with zeros. */
static inline int64_t hu_conv_blocks(int64_t channels) {
    return (channels + HU_CONV_WIDTH - 1) / HU_CONV_WIDTH;
}

#endif
