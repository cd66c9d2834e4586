#define HU_GEMM_REAL_BITS 64
#define HU_GEMM_TABLE hu_gemm_f64_portable_avx2
#define HU_GEMM_LANES "kernel/gemm/lanes_portable.h"
#define HU_GEMM_FEW_KERNELS 1
#include "kernel/gemm/body.inc"
