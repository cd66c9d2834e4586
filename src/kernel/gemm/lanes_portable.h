/* kernel/gemm/lanes_portable.h - the vocabulary of the bodies in GNU vector extensions, for any
 * machine; HU_GEMM_REAL_BITS = 32 | 64. Both compilers turn the loops over lanes into one
 * instruction where there is one; `omp simd` keeps them from being unrolled before. */
#ifndef HU_KERNEL_GEMM_LANES_PORTABLE_H
#define HU_KERNEL_GEMM_LANES_PORTABLE_H
#include <string.h>

#include "base/bits.h"
#include "kernel/lane.h"

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

#if defined(__FMA__) || defined(__FP_FAST_FMAF) || defined(__ARM_FEATURE_FMA)
#define HAS_FMA 1
#else
#define HAS_FMA 0
#endif

/* Every so many-th accumulator of a tile is rounded by additions: never. */
enum { ADD_FORM_EVERY = 1000 };
#define HU_GEMM_HAS_ODD (HU_GEMM_REAL_BITS == 64)
/* Rows and vectors of the tiles of each mode: those of lanes_avx2.h. */
#define FMACS_WIDE 6, 2
#define FMACS_NARROW 12, 1
#define MACS_WIDE 4, 2
#define MACS_NARROW 8, 1
#define FMAC_K_WIDE 3, 4
#define FMAC_K_NARROW 12, 1
#define MAC_WIDE 4, 2
#define MAC_NARROW 8, 1
#define KAHAN_WIDE 6, 2
#define KAHAN_NARROW 12, 1
#define KAHAN_CPD_WIDE 6, 2
#define KAHAN_CPD_NARROW 12, 1
enum { HAS_MANY_REGISTERS = 0 };

#if HU_GEMM_REAL_BITS == 32
typedef float real;
typedef int32_t word;
typedef float narrow __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
#define EXPONENT_MASK 0x7f800000
#define SIGN_MASK INT32_MIN
#else
typedef double real;
typedef int64_t word;
typedef float narrow __attribute__((vector_size(VECTOR_BYTES / 2), aligned(4), may_alias));
#define EXPONENT_MASK 0x7ff0000000000000
#define SIGN_MASK INT64_MIN
#endif
typedef real vec __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef word mask __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
enum { LANES = VECTOR_BYTES / sizeof(real) };

HU_INLINE vec v_set(real x) {
    vec r;
    for (int i = 0; i < LANES; i++) r[i] = x;
    return r;
}

HU_INLINE vec v_load(const real *p) {
    return *(const vec *)p;
}

/* Between the state of a tile, which is float, and vectors of real; the values fit both. */
HU_INLINE vec v_load_state(const float *p) {
    return __builtin_convertvector(*(const narrow *)p, vec);
}

HU_INLINE void v_store_state(float *p, vec x) {
    *(narrow *)p = __builtin_convertvector(x, narrow);
}

HU_INLINE vec v_add(vec a, vec b) {
    return a + b;
}

HU_INLINE vec v_sub(vec a, vec b) {
    return a - b;
}

HU_INLINE vec v_mul(vec a, vec b) {
    return a * b;
}

/* a b + c rounded to odd in float64, where a b is exact: s is the nearest number, e its exact error
 * (Knuth's TwoSum); where e is not 0, s steps back to the truncated magnitude and its last bit is
 * set. e is NaN where s is not finite. */
HU_INLINE double fma_odd(double a, double b, double c) {
    double p = a * b, s = p + c, rest = s - p;
    double e = (p - (s - rest)) + (c - rest);
    uint64_t bits = hu_f64_bits(s), inexact = (uint64_t)(e < 0) | (uint64_t)(e > 0);
    uint64_t back = (hu_f64_bits(e) ^ bits) >> 63 & inexact;
    return hu_f64_of_bits((bits - back) | inexact);
}

/* a b + c, one rounding. Without the instruction: float64 products of the numbers that come here
 * are exact, and rounding to odd keeps float32 results free of a second rounding. */
HU_INLINE vec v_fma(vec a, vec b, vec c) {
    vec r;
#if HU_GEMM_REAL_BITS == 64
    if (!HAS_FMA) return a * b + c;
#pragma omp simd
    for (int i = 0; i < LANES; i++) r[i] = __builtin_fma(a[i], b[i], c[i]);
#elif HAS_FMA
#pragma omp simd
    for (int i = 0; i < LANES; i++) r[i] = __builtin_fmaf(a[i], b[i], c[i]);
#else
#pragma omp simd
    for (int i = 0; i < LANES; i++) r[i] = (float)fma_odd((double)a[i], (double)b[i], (double)c[i]);
#endif
    return r;
}

HU_INLINE vec v_fms(vec a, vec b, vec c) {
    return v_fma(a, b, -c);
}

/* c + a b and c - a b where a b is exact. */
HU_INLINE vec v_plus_exact(vec c, vec a, vec b) {
    if (HAS_FMA) return v_fma(a, b, c);
    return c + a * b;
}

HU_INLINE vec v_minus_exact(vec c, vec a, vec b) {
    if (HAS_FMA) return v_fma(-a, b, c);
    return c - a * b;
}

/* The power of two of x; 0 for subnormals, infinity for what is not finite. */
HU_INLINE vec v_exponent(vec x) {
    return (vec)((mask)x & (word)EXPONENT_MASK);
}

HU_INLINE vec v_magnitude(vec x) {
    return (vec)((mask)x & (word)~SIGN_MASK);
}

/* a not negative, b positive; of a NaN either. */
HU_INLINE vec v_larger(vec a, vec b) {
#if HU_GEMM_REAL_BITS == 64
    mask m = (mask)(a > b);
    return (vec)((m & (mask)a) | (~m & (mask)b));
#elif defined(__clang__) && __has_builtin(__builtin_elementwise_max)
    return (vec)__builtin_elementwise_max((mask)a, (mask)b);
#else
    mask x = (mask)a, y = (mask)b, r;
#pragma omp simd
    for (int i = 0; i < LANES; i++) r[i] = x[i] > y[i] ? x[i] : y[i];
    return (vec)r;
#endif
}

/* Adds the patterns of x and steps. */
HU_INLINE vec v_shift_exponent(vec x, vec steps) {
    return (vec)((mask)x + (mask)steps);
}

HU_INLINE vec v_copysign(vec magnitude, vec sign) {
    return (vec)((mask)magnitude | ((mask)sign & (word)SIGN_MASK));
}

HU_INLINE vec v_where(mask m, vec a, vec b) {
    return (vec)((m & (mask)a) | (~m & (mask)b));
}

/* m ? +0 : x */
HU_INLINE vec v_unless(mask m, vec x) {
    return (vec)(~m & (mask)x);
}

/* Comparisons are false for NaN. */
HU_INLINE mask v_below(vec a, vec b) {
    return (mask)(a < b);
}

HU_INLINE mask v_reaches(vec a, vec b) {
    return (mask)(a >= b);
}

HU_INLINE mask v_is_nan(vec x) {
    return (mask)(x != x);
}

HU_INLINE mask m_both(mask a, mask b) {
    return a & b;
}

HU_INLINE uint64_t m_count(mask m) {
    uint64_t count = 0;
#pragma omp simd reduction(+ : count)
    for (int i = 0; i < LANES; i++) count += (uint64_t)-m[i];
    return count;
}

/* Rounded to float32. */
HU_INLINE vec v_to_f32(vec x) {
    return __builtin_convertvector(__builtin_convertvector(x, narrow), vec);
}

/* a b + c rounded to odd where the arithmetic has it; a b must be exact in float64. */
HU_INLINE vec v_fma_odd(vec a, vec b, vec c) {
#if HU_GEMM_REAL_BITS == 64
    vec r;
#pragma omp simd
    for (int i = 0; i < LANES; i++) r[i] = fma_odd(a[i], b[i], c[i]);
    return r;
#else
    return v_fma(a, b, c);
#endif
}

#endif
