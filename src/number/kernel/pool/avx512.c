#define HU_RECORD hu_pool_kernels_avx512
#include "kernel/pool/body.inc"
