#define HU_RECORD hu_lookup_kernel_avx512
#include "kernel/lookup/body.inc"
