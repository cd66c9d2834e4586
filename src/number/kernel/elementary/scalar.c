#define HU_RECORD hu_elementary_kernels_scalar
#include "kernel/elementary/body.inc"
