/* kernel/peak/peak.c - choosing the loop of this machine. */
#include "kernel/peak/peak.h"

uint64_t hu_peak_run(uint64_t wanted, float *sink) {
    static const int lanes[HU_ISA_COUNT] = {4, 8, 16};
    static hu_peak_fn *const of_isa[HU_ISA_COUNT] = {HU_OF_ISA(hu_peak)};
    hu_isa isa = hu_cpu_isa();
    uint64_t round = (uint64_t)lanes[isa] * HU_PEAK_CHAINS * HU_PEAK_STEPS;
    /* At least one round. */
    uint64_t rounds = wanted / round + 1;
    *sink = of_isa[isa](rounds);
    return rounds * round;
}
