#define HU_UNIFORM_ISA avx512
#include "kernel/uniform/body.inc"
