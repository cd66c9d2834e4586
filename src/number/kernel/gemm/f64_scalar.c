#define HU_GEMM_REAL_BITS 64
#define HU_GEMM_TABLE hu_gemm_f64_scalar
#define HU_GEMM_LANES "kernel/gemm/lanes_portable.h"
#include "kernel/gemm/body.inc"
