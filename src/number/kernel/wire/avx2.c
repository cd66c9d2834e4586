#define HU_WIRE_ISA avx2
#include "kernel/wire/lanes_avx2.h"

#include "kernel/wire/body.inc"
