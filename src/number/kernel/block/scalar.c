#define HU_BLOCK_ISA scalar
#include "kernel/block/body.inc"
