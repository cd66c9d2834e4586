#define HU_ROUND_ISA scalar
#include "kernel/round/body.inc"
