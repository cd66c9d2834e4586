#define HU_RECORD hu_lookup_kernel_avx2
#include "kernel/lookup/body.inc"
