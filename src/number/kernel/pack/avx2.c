#define HU_PACK_ISA avx2
#include "kernel/pack/body.inc"
