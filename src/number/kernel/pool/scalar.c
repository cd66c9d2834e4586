#define HU_RECORD hu_pool_kernels_scalar
#include "kernel/pool/body.inc"
