#define HU_BLOCK_ISA avx2
#include "kernel/block/body.inc"
