#define HU_ROUND_ISA avx512
#include "kernel/round/body.inc"
