/* kernel/gemm/tensor_core_step.h - one step of a tensor core by integers alone: the definition.
 * Thread-safe: pure functions of their arguments.
 * Proof: tests/exhaustive/kernel_tensor_core.c.
 */
#ifndef HU_KERNEL_GEMM_TENSOR_CORE_STEP_H
#define HU_KERNEL_GEMM_TENSOR_CORE_STEP_H
#include <halfulp/gemm.h>

/* The factors of a step; strides in floats. */
typedef struct hu_core_terms {
    const float *x, *y;
    int64_t x_stride, y_stride;
} hu_core_terms;

/* R of a step of `count` terms, 1 <= count <= block, which begins with a = sum (TC of hu_mac;
 * is_late: without it). Any numbers. counts: not NULL, as hu_gemm_task's but for values. */
float hu_core_sum(const hu_accumulator *accumulator, int64_t count, const hu_core_terms *terms,
                  float sum, hu_gemm_counts *counts);

#endif
