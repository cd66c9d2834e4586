/* kernel/gemm/table.h - the tables of micro-kernels, one per instruction set and arithmetic. */
#ifndef HU_KERNEL_GEMM_TABLE_H
#define HU_KERNEL_GEMM_TABLE_H
#include "kernel/gemm/kernel.h"

/* [mode][rounded to odd][class][shape]; rows of kernel.list, the others are NULL. */
typedef hu_gemm_kernel hu_gemm_table[HU_MAC_COUNT][2][HU_GEMM_CLASS_COUNT][HU_GEMM_SHAPE_COUNT];

extern const hu_gemm_table hu_gemm_f32_scalar, hu_gemm_f64_scalar;
extern const hu_gemm_table hu_gemm_f32_avx2, hu_gemm_f64_avx2;
extern const hu_gemm_table hu_gemm_f32_avx512, hu_gemm_f64_avx512;

/* The portable bodies with the compiler's AVX2, class FAST alone: for measurements and tests. */
extern const hu_gemm_table hu_gemm_f32_portable_avx2, hu_gemm_f64_portable_avx2;

#endif
