#define HU_RECORD hu_pool_kernels_avx2
#include "kernel/pool/body.inc"
