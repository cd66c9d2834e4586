#include "kernel/histogram/histogram.h"

#include "base/bits.h"

enum { PART = 8192 }; /* elements that are looked at twice while they are in the first cache */

hu_fields_fn hu_fields_scalar, hu_fields_avx2, hu_fields_avx512;

hu_fields_fn *hu_histogram_fields(hu_isa isa) {
#if defined(__x86_64__)
    static hu_fields_fn *const of_isa[HU_ISA_COUNT] = {[HU_ISA_SCALAR] = hu_fields_scalar,
                                                       [HU_ISA_AVX2] = hu_fields_avx2,
                                                       [HU_ISA_AVX512] = hu_fields_avx512};
    return of_isa[isa];
#else
    return isa == HU_ISA_SCALAR ? hu_fields_scalar : NULL;
#endif
}

static uint32_t magnitude(float x) {
    return hu_f32_bits(x) & ~HU_F32_SIGN;
}

/* What the exponent field 0 hides: zeros and subnormals. */
static void split_small(size_t n, const float *x, uint32_t small, hu_histogram *histogram) {
    uint32_t zero = 0;
#pragma omp simd reduction(+ : zero)
    for (size_t i = 0; i < n; i++) zero += magnitude(x[i]) == 0;
    histogram->zero += zero;
    for (size_t i = 0; zero < small && i < n; i++) {
        uint32_t u = magnitude(x[i]);
        if (u == 0 || u >= 0x00800000u) continue;
        histogram->bin[31 - __builtin_clz(u)]++;
        zero++;
    }
}

/* And the field 255: infinities and NaNs. */
static void split_special(size_t n, const float *x, uint32_t special, hu_histogram *histogram) {
    uint32_t nan = 0;
#pragma omp simd reduction(+ : nan)
    for (size_t i = 0; i < n; i++) nan += magnitude(x[i]) > HU_F32_INFINITY;
    histogram->nan += nan;
    histogram->infinite += special - nan;
}

void hu_histogram_add(size_t n, const float *x, hu_histogram *histogram) {
    enum { LEAST_NORMAL = -126 - HU_HISTOGRAM_LEAST };
    hu_fields_fn *count = hu_histogram_fields(hu_cpu_isa());
    for (size_t at = 0; at < n; at += PART) {
        size_t part = n - at < PART ? n - at : PART;
        uint32_t field[HU_HISTOGRAM_FIELDS] = {0};
        count(part, x + at, field);
        if (field[0]) split_small(part, x + at, field[0], histogram);
        if (field[0xFF]) split_special(part, x + at, field[0xFF], histogram);
        for (size_t e = 1; e < 0xFF; e++) histogram->bin[LEAST_NORMAL + e - 1] += field[e];
    }
    histogram->elements += n;
}

static void add(uint64_t *total, uint64_t more) {
    if (more) __atomic_fetch_add(total, more, __ATOMIC_RELAXED);
}

void hu_histogram_merge(hu_histogram *total, const hu_histogram *more) {
    add(&total->elements, more->elements);
    add(&total->zero, more->zero);
    add(&total->nan, more->nan);
    add(&total->infinite, more->infinite);
    for (size_t i = 0; i < HU_HISTOGRAM_BINS; i++) add(&total->bin[i], more->bin[i]);
}
