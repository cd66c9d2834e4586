#include "kernel/elementary/elementary.h"

#include "base/cpu.h"

const hu_elementary_kernels *hu_elementary(void) {
    static const hu_elementary_kernels *const of_isa[HU_ISA_COUNT] = {
        HU_AT_ISA(hu_elementary_kernels)};
    return of_isa[hu_cpu_isa()];
}
