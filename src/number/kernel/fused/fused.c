#include "kernel/fused/fused.h"

#include "base/cpu.h"

const hu_fused_kernels *hu_fused(void) {
    static const hu_fused_kernels *const of_isa[HU_ISA_COUNT] = {HU_AT_ISA(hu_fused_kernels)};
    return of_isa[hu_cpu_isa()];
}
