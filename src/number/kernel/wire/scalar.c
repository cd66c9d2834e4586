#define HU_WIRE_ISA scalar
#include "kernel/wire/lanes_portable.h"

#include "kernel/wire/body.inc"
