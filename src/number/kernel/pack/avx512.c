#define HU_PACK_ISA avx512
#include "kernel/pack/body.inc"
