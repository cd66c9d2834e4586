#include "kernel/pool/pool.h"

#include "base/cpu.h"

const hu_pool_kernels *hu_pool(void) {
    static const hu_pool_kernels *const of_isa[HU_ISA_COUNT] = {HU_AT_ISA(hu_pool_kernels)};
    return of_isa[hu_cpu_isa()];
}
