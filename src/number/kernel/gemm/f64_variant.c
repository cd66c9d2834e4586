#define HU_GEMM_REAL_BITS 64
#define HU_GEMM_TABLE HU_VARIANT(hu_gemm_f64)
#include "kernel/gemm/body.inc"
