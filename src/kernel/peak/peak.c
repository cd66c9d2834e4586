/* kernel/peak/peak.c - choosing the loop of this machine. */
#include "kernel/peak/peak.h"

#include "base/cpu.h"

uint64_t hu_peak_run(uint64_t wanted, float *sink) {
    static const int lanes[HU_ISA_COUNT] = {4, 8, 16};
    hu_isa isa = hu_cpu_isa();
    uint64_t round = (uint64_t)lanes[isa] * HU_PEAK_CHAINS * HU_PEAK_STEPS;
    /* At least one round. */
    uint64_t rounds = wanted / round + 1;
#if defined(__x86_64__)
    if (isa == HU_ISA_AVX512)
        *sink = hu_peak_avx512(rounds);
    else if (isa == HU_ISA_AVX2)
        *sink = hu_peak_avx2(rounds);
    else
#endif
        *sink = hu_peak_scalar(rounds);
    return rounds * round;
}
