/* kernel/gemm/table.h - the tables of micro-kernels, one per instruction set and arithmetic, and
 * the choice of one. Thread-safe: the tables are constant. */
#ifndef HU_KERNEL_GEMM_TABLE_H
#define HU_KERNEL_GEMM_TABLE_H
#include "kernel/gemm/kernel.h"

/* [mode][rounded to odd][class][shape]; rows of kernel.list, the others are NULL. */
typedef hu_gemm_kernel hu_gemm_table[HU_MAC_COUNT][2][HU_GEMM_CLASS_COUNT][HU_GEMM_SHAPE_COUNT];

extern const hu_gemm_table HU_OF_ISA(hu_gemm_f32), HU_OF_ISA(hu_gemm_f64);

/* The portable bodies with the compiler's AVX2, class FAST alone: for measurements and tests. */
extern const hu_gemm_table hu_gemm_f32_portable_avx2, hu_gemm_f64_portable_avx2;

/* The micro-kernel of a combination on an instruction set. FMAC is FMAC-K with an endless block.
 * FMACS exists for F32 alone, in one class that stands for all; MACS counts nothing, COUNT_ALL is
 * FULL. Of one mode and shape every arithmetic and class has the same rows; F64 kinds have half the
 * columns of F32. */
hu_gemm_kernel hu_gemm_kernel_of(hu_isa isa, hu_mac mac, hu_gemm_arithmetic arithmetic,
                                 hu_gemm_class class, hu_gemm_shape shape);

#endif
