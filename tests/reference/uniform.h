/* reference/uniform.h - what the kernels of uniform quantisation must equal. */
#ifndef HU_REFERENCE_UNIFORM_H
#define HU_REFERENCE_UNIFORM_H
#include "kernel/uniform/uniform.h"

/* One element by the definition, without vectors: what the kernels must equal. word: of stochastic
 * rounding. value, residual: NULL or where they go. Returns the code. */
uint32_t hu_uniform_reference(hu_uniform_scale scale, uint32_t bits, hu_rounding rounding, float x,
                              uint32_t word, float *value, float *residual);

#endif
