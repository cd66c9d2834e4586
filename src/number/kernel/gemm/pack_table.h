/* kernel/gemm/pack_table.h - one hu_pack_set per instruction set, and the choice of one. */
#ifndef HU_KERNEL_GEMM_PACK_TABLE_H
#define HU_KERNEL_GEMM_PACK_TABLE_H
#include "base/cpu.h"
#include "kernel/gemm/pack.h"

extern const hu_pack_set HU_OF_ISA(hu_pack_set);

/* The loops of an instruction set of this machine. Borrowed: valid for ever. */
const hu_pack_set *hu_pack_set_of(hu_isa isa);

#endif
