/* kernel/gemm/pack_table.c - the packing loops of an instruction set. */
#include "kernel/gemm/pack_table.h"

const hu_pack_set *hu_pack_set_of(hu_isa isa) {
#if defined(__x86_64__)
    static const hu_pack_set *const sets[HU_ISA_COUNT] = {&hu_pack_set_scalar, &hu_pack_set_avx2,
                                                          &hu_pack_set_avx512};
    return sets[isa];
#else
    (void)isa;
    return &hu_pack_set_scalar;
#endif
}
