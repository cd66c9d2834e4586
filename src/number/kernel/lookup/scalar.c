#define HU_RECORD hu_lookup_kernel_scalar
#include "kernel/lookup/body.inc"
