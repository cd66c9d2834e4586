/* kernel/peak/peak.h - the most multiply-adds that a core can do, for benchmarks.
 */
#ifndef HU_KERNEL_PEAK_H
#define HU_KERNEL_PEAK_H
#include <stdint.h>

#include "base/cpu.h"

/* Does about `wanted` float32 multiply-adds in registers on the calling thread, with the
 * instruction set of hu_cpu_isa(), in enough independent chains to hide their latency. Gives the
 * number done; *sink is what they add up to (it keeps them from being left out). */
uint64_t hu_peak_run(uint64_t wanted, float *sink);

/* The same with a logical operation beside every multiply-add; gives the number of both together,
 * which tells whether they wait for the same units. */
uint64_t hu_peak_mixed_run(uint64_t wanted, float *sink);

/* The same of each instruction set: `rounds` times hu_peak_macs_<isa> multiply-adds. */
typedef float hu_peak_fn(uint64_t rounds);
hu_peak_fn HU_OF_ISA(hu_peak), HU_OF_ISA(hu_peak_mixed);

enum { HU_PEAK_CHAINS = 12, HU_MIXED_CHAINS = 8, HU_PEAK_STEPS = 8 };

#endif
