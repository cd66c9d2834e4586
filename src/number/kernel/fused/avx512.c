#define HU_RECORD hu_fused_kernels_avx512
#include "kernel/fused/fused.inc"
