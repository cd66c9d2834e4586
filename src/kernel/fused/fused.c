#include "kernel/fused/fused.h"

#include "base/cpu.h"

const hu_fused_kernels *hu_fused(void) {
#if defined(__x86_64__)
    static const hu_fused_kernels *const of_isa[HU_ISA_COUNT] = {
        [HU_ISA_SCALAR] = &hu_fused_kernels_scalar,
        [HU_ISA_AVX2] = &hu_fused_kernels_avx2,
        [HU_ISA_AVX512] = &hu_fused_kernels_avx512};
    return of_isa[hu_cpu_isa()];
#else
    return &hu_fused_kernels_scalar;
#endif
}
