/* kernel/block/lines.h - rows that passes serve (pass.h). Whole tiles of a line go through them
 * where they lie. Where lines end within a tile, what is left of several of them goes through side
 * by side, each filled up with zeros to whole tiles: zeros raise no maximum, and are not counted.
 * Short lines are left as wholes. Batches that a pass does not take go the general way. */
#ifndef HU_KERNEL_BLOCK_LINES_H
#define HU_KERNEL_BLOCK_LINES_H
#include "kernel/block/internal.h"

/* The first `all` elements of the job, whole rows, rounded to y. *top is raised as by
 * hu_block_make_scales. */
void hu_block_lines_round(const hu_block_job *job, int64_t all, float *y, uint32_t *top);

/* One row into its bytes. */
void hu_block_lines_pack(const hu_block_job *job, uint8_t *row, uint32_t *top);

/* Values of elements first .. first+n-1 of a packed row. Gives how many of them there are now: none
 * but of whole tiles, or whole lines, from the first on. */
size_t hu_block_lines_unpack(const hu_blocker *blocker, float tensor_scale, const uint8_t *row,
                             int64_t first, size_t n, float *y);

#endif
