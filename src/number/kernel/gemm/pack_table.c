/* kernel/gemm/pack_table.c - the packing loops of an instruction set. */
#include "kernel/gemm/pack_table.h"

const hu_pack_set *hu_pack_set_of(hu_isa isa) {
    static const hu_pack_set *const sets[HU_ISA_COUNT] = {HU_AT_ISA(hu_pack_set)};
    return sets[isa];
}
