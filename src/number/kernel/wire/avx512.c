#define HU_WIRE_ISA avx512
#include "kernel/wire/lanes_avx512.h"

#include "kernel/wire/body.inc"
