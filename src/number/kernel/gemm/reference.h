/* kernel/gemm/reference.h - one accumulator, one term at a time: the definition of every mode.
 * Thread-safe: pure functions of their arguments.
 */
#ifndef HU_KERNEL_GEMM_REFERENCE_H
#define HU_KERNEL_GEMM_REFERENCE_H
#include <halfulp/gemm.h>

/* State of one sum; starts as zero. As in kernel/gemm/kernel.h: `sum` is the accumulator, or the
 * float32 master of FMAC-K; `extra` the running block sum of FMAC-K or the compensation of Kahan;
 * `phase` the terms of the block already in `extra`, 0 .. block-1. TC with `promote` as FMAC-K. */
typedef struct hu_gemm_state {
    float sum, extra;
    int64_t phase;
} hu_gemm_state;

/* Adds the term x y, any numbers. accumulator is valid and not TC, whose steps take many terms;
 * counts: as hu_gemm_task's, not NULL. */
void hu_gemm_step(const hu_accumulator *accumulator, float x, float y, hu_gemm_state *state,
                  hu_gemm_counts *counts);

/* Adds the terms x[k] y[k] in turn. TC: in steps of `block`, the last one with what is left; the
 * state is between two steps. Strides in floats. */
void hu_gemm_terms(const hu_accumulator *accumulator, int64_t count, const float *x,
                   int64_t x_stride, const float *y, int64_t y_stride, hu_gemm_state *state,
                   hu_gemm_counts *counts);

/* The sum if it ended here, plus *bias (NULL: none). */
float hu_gemm_state_value(const hu_accumulator *accumulator, const hu_gemm_state *state,
                          const float *bias);

#endif
