#define HU_RECORD hu_elementary_kernels_avx512
#include "kernel/elementary/body.inc"
