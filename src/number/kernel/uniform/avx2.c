#define HU_UNIFORM_ISA avx2
#include "kernel/uniform/body.inc"
