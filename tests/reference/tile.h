/* reference/tile.h - what the kernels of tiles must equal: matrices by loops over numbers. */
#ifndef HU_REFERENCE_TILE_H
#define HU_REFERENCE_TILE_H
#include "kernel/block/block.h"

/* One row of `lines` lines by the operations that kernel/block/block.h names, a number at a time.
 * x, y, codes [lines, line]; scales [tiles], the stored ones as numbers, E8M0's as 2^k; index: of
 * the first random word. Element codes of MXINT8 are two's complements. */
void hu_tile_reference(const hu_block_format *format, hu_rounding rounding, float tensor_scale,
                       int64_t lines, int64_t line, const float *x, const hu_random_key *key,
                       uint64_t index, const uint32_t *signs, float *y, uint32_t *codes,
                       float *scales);

/* y = a line rotated, or rotated back: the matrix product, in the order of sums that
 * kernel/hadamard/hadamard.h names, by recursion. */
void hu_hadamard_reference(int32_t size, const uint32_t *signs, int64_t n, const float *x, float *y,
                           bool back);

/* The largest finite magnitude of the numbers that are rounded. */
float hu_tile_reference_top(const hu_block_format *format, int64_t lines, int64_t line,
                            const float *x, const uint32_t *signs);

#endif
