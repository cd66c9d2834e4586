/* halfulp/histogram.h - how many numbers of arrays have which exponent, and what share of them a
 * number format would lose.
 * Thread-safe: no state but the histogram that is given.
 */
#ifndef HALFULP_HISTOGRAM_H
#define HALFULP_HISTOGRAM_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/format.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HU_HISTOGRAM_LEAST = -149, /* exponent of bin 0: the least binary32 subnormal */
    HU_HISTOGRAM_BINS = 277    /* up to exponent 127 */
};

/* Starts as zeros. Every number is in exactly one of zero, nan, infinite and a bin. */
typedef struct hu_histogram {
    uint64_t elements, zero, nan, infinite; /* elements: all of them */
    float largest;                          /* finite magnitude; 0: there is none above zero */
    uint64_t bin[HU_HISTOGRAM_BINS];        /* floor(log2 |x|) = HU_HISTOGRAM_LEAST + i */
} hu_histogram;

/* Adds x [n] to what the histogram has.
 *
 *   threads  1 to 1024; the counts do not depend on it
 *
 * HU_ERR_ARGUMENT: other threads. Never allocates.
 * Proof: tests/exhaustive/kernel_histogram.c. */
HU_API hu_status hu_histogram_add(size_t n, const float *x, int32_t threads,
                                  hu_histogram *histogram);

/* total becomes both together; safe from several threads on one total. */
HU_API void hu_histogram_merge(hu_histogram *total, const hu_histogram *more);

/* Shares of all elements that rounding to nearest-even to a format would lose. A bin that a
 * threshold cuts is taken to be spread evenly over its binade for `share`; least and most count
 * none and all of it. */
typedef struct hu_lost_share {
    double share, least, most;
} hu_lost_share;

typedef struct hu_lost {
    hu_lost_share overflow;  /* beyond the largest finite number */
    hu_lost_share underflow; /* not zero before, zero after */
    hu_lost_share subnormal; /* below the smallest normal number but not zero; of formats without
                                subnormals: flushed, and in underflow too */
} hu_lost;

/* What rounding these numbers, times 2^shift, to the format would lose. Infinities and NaNs of the
 * array are among its elements, but of these the format is not the cause: they are not in overflow.
 * Without elements all shares are 0.
 *
 *   shift    -1000 to 1000: the power of two of a scale, as that of a loss
 *
 * HU_ERR_FORMAT if the format is invalid, HU_ERR_ARGUMENT.
 * Proof: tests/unit/tensor_exponents_test.c, against rounded numbers. */
HU_API hu_status hu_histogram_lost(const hu_histogram *histogram, const hu_format *format,
                                   int32_t shift, hu_lost *lost);

#ifdef __cplusplus
}
#endif

#endif
