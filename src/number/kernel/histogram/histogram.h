/* kernel/histogram/histogram.h - how many numbers have which exponent.
 * Thread-safe: no state but the histogram that is given. */
#ifndef HU_KERNEL_HISTOGRAM_H
#define HU_KERNEL_HISTOGRAM_H
#include <stddef.h>
#include <stdint.h>

enum {
    HU_HISTOGRAM_LEAST = -149, /* exponent of bin 0: the least binary32 subnormal */
    HU_HISTOGRAM_BINS = 277    /* up to exponent 127 */
};

/* Starts as zeros. Every number is in exactly one of zero, nan, infinite and a bin. */
typedef struct hu_histogram {
    uint64_t elements, zero, nan, infinite; /* elements: all of them */
    uint32_t top;                           /* bits of the largest finite magnitude */
    uint64_t bin[HU_HISTOGRAM_BINS];        /* floor(log2 |x|) = HU_HISTOGRAM_LEAST + i */
} hu_histogram;

/* Adds x[n]. Proof: tests/unit/kernel_histogram_test.c. */
void hu_histogram_add(size_t n, const float *x, hu_histogram *histogram);

/* total becomes both together; safe from several threads on one total. */
void hu_histogram_merge(hu_histogram *total, const hu_histogram *more);

#endif
