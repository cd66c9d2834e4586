/* kernel/gemm/counts.h - counts of accumulators are sums over threads, groups and workers. */
#ifndef HU_KERNEL_GEMM_COUNTS_H
#define HU_KERNEL_GEMM_COUNTS_H
#include <halfulp/gemm.h>

/* total becomes the counts of both together. */
static inline void hu_gemm_counts_add(hu_gemm_counts *total, const hu_gemm_counts *more) {
    total->values += more->values;
    total->subnormal += more->subnormal;
    total->overflow += more->overflow;
    total->terms += more->terms;
    total->stalled += more->stalled;
}

#endif
