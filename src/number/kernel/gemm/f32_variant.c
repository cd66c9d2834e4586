#define HU_GEMM_REAL_BITS 32
#define HU_GEMM_TABLE HU_VARIANT(hu_gemm_f32)
#include "kernel/gemm/body.inc"
