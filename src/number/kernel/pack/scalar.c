#define HU_PACK_ISA scalar
#include "kernel/pack/body.inc"
