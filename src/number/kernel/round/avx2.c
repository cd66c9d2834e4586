#define HU_ROUND_ISA avx2
#include "kernel/round/body.inc"
