#define HU_UNIFORM_ISA scalar
#include "kernel/uniform/body.inc"
