#define HU_RECORD hu_elementary_kernels_avx2
#include "kernel/elementary/body.inc"
