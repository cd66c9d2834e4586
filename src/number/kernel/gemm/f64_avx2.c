#define HU_GEMM_REAL_BITS 64
#define HU_GEMM_TABLE hu_gemm_f64_avx2
#define HU_GEMM_LANES "kernel/gemm/lanes_avx2.h"
#include "kernel/gemm/body.inc"
