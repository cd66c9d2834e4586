/* reference/block.h - what the kernels of blocks must equal. */
#ifndef HU_REFERENCE_BLOCK_H
#define HU_REFERENCE_BLOCK_H
#include "kernel/block/block.h"

/* One block by integer arithmetic (and the float32 operations named above): what the kernels must
 * equal. x, y [n], n <= length; words [n] of stochastic rounding, else NULL; codes [n] element
 * codes, two's complement for integers; *scale the scale's code. */
void hu_block_reference(const hu_block_format *format, hu_rounding rounding, float tensor_scale,
                        size_t n, const float *x, const uint32_t *words, float *y, uint8_t *codes,
                        uint8_t *scale);

#endif
