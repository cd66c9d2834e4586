/* kernel/peak/peak.c - choosing the loop of this machine. */
#include "kernel/peak/peak.h"

/* As many rounds of `round` vectors as `wanted` operations take, at least one; gives operations. */
static uint64_t run(hu_peak_fn *const of_isa[], uint64_t round, uint64_t wanted, float *sink) {
    static const uint64_t lanes[HU_ISA_COUNT] = {4, 8, 16};
    hu_isa isa = hu_cpu_isa();
    uint64_t operations = lanes[isa] * round, rounds = wanted / operations + 1;
    *sink = of_isa[isa](rounds);
    return rounds * operations;
}

uint64_t hu_peak_run(uint64_t wanted, float *sink) {
    static hu_peak_fn *const of_isa[HU_ISA_COUNT] = {HU_OF_ISA(hu_peak)};
    return run(of_isa, HU_PEAK_CHAINS * HU_PEAK_STEPS, wanted, sink);
}

uint64_t hu_peak_mixed_run(uint64_t wanted, float *sink) {
    static hu_peak_fn *const of_isa[HU_ISA_COUNT] = {HU_OF_ISA(hu_peak_mixed)};
    return run(of_isa, 2 * HU_MIXED_CHAINS * HU_PEAK_STEPS, wanted, sink);
}
