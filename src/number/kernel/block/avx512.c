#define HU_BLOCK_ISA avx512
#include "kernel/block/body.inc"
