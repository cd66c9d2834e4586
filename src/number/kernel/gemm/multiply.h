/* kernel/gemm/multiply.h - the loops over blocks and threads. */
#ifndef HU_KERNEL_GEMM_MULTIPLY_H
#define HU_KERNEL_GEMM_MULTIPLY_H
#include <halfulp/gemm.h>

/* Adds the terms from `first` on of a checked product with terms and elements, in the caller's
 * scratch or in a block of its own. whole: task->k, or for TC with a carry the terms up to which
 * steps are complete: what follows goes into c and not into the carry. HU_ERR_MEMORY, HU_ERR_SHAPE.
 */
hu_status hu_gemm_multiply(const hu_gemm_task *task, int64_t first, int64_t whole);

#endif
