/* kernel/resample/halves.h - how weights are split. For this folder only: names without prefix. */
#ifndef HU_KERNEL_RESAMPLE_HALVES_H
#define HU_KERNEL_RESAMPLE_HALVES_H

/* A weight is 2^11 upper + lower, both of which fit a word, so that a pair of products is one
 * instruction. Sums of either stay far below 2^31, so that the sum of both is exact. */
enum { LOWER_BITS = 11 };

#endif
