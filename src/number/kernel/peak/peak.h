/* kernel/peak/peak.h - the most multiply-adds that a core can do, for benchmarks.
 */
#ifndef HU_KERNEL_PEAK_H
#define HU_KERNEL_PEAK_H
#include <stdint.h>

#include "base/cpu.h"

enum { HU_PEAK_CHAINS = 12, HU_MIXED_CHAINS = 8, HU_PEAK_STEPS = 8 };

/* The loops of one instruction set: so many rounds of a step for every chain, and their sum. */
typedef struct hu_peak_loops {
    uint64_t lanes; /* floats of a vector */
    float (*multiply_adds)(uint64_t rounds);
    float (*mixed)(uint64_t rounds);
} hu_peak_loops;

extern const hu_peak_loops HU_OF_ISA(hu_peak_loops);

/* The record of hu_cpu_isa(). */
static inline const hu_peak_loops *hu_peak_loops_here(void) {
    static const hu_peak_loops *const of_isa[HU_ISA_COUNT] = {HU_AT_ISA(hu_peak_loops)};
    return of_isa[hu_cpu_isa()];
}

/* As many rounds of so many operations as `wanted` take, at least one; gives operations. */
static inline uint64_t hu_peak_rounds(float (*loop)(uint64_t), uint64_t operations, uint64_t wanted,
                                      float *sink) {
    uint64_t rounds = wanted / operations + 1;
    *sink = loop(rounds);
    return rounds * operations;
}

/* Does about `wanted` float32 multiply-adds in registers on the calling thread, with the
 * instruction set of hu_cpu_isa(), in enough independent chains to hide their latency. Gives the
 * number done; *sink is what they add up to (it keeps them from being left out). */
static inline uint64_t hu_peak_run(uint64_t wanted, float *sink) {
    const hu_peak_loops *loops = hu_peak_loops_here();
    return hu_peak_rounds(loops->multiply_adds, loops->lanes * HU_PEAK_CHAINS * HU_PEAK_STEPS,
                          wanted, sink);
}

/* The same with a logical operation beside every multiply-add; gives the number of both together,
 * which tells whether they wait for the same units. */
static inline uint64_t hu_peak_mixed_run(uint64_t wanted, float *sink) {
    const hu_peak_loops *loops = hu_peak_loops_here();
    return hu_peak_rounds(loops->mixed, 2 * loops->lanes * HU_MIXED_CHAINS * HU_PEAK_STEPS, wanted,
                          sink);
}

#endif
