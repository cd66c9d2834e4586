#define HU_RECORD hu_fused_kernels_avx2
#include "kernel/fused/fused.inc"
