#define HU_RECORD hu_fused_kernels_scalar
#include "kernel/fused/fused.inc"
