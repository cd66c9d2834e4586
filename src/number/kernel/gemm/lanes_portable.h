/* kernel/gemm/lanes_portable.h - the vocabulary of the bodies in GNU vector extensions, for any
 * machine; HU_GEMM_REAL_BITS = 32 | 64. Both compilers turn the loops over lanes into one
 * instruction where there is one; `omp simd` keeps them from being unrolled before. */
#ifndef HU_KERNEL_GEMM_LANES_PORTABLE_H
#define HU_KERNEL_GEMM_LANES_PORTABLE_H

#include "kernel/gemm/tiles.h"
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

#define HU_GEMM_HAS_ODD (HU_GEMM_REAL_BITS == 64)
enum { HAS_MANY_REGISTERS = 0 };

#if HU_GEMM_REAL_BITS == 32
typedef float real;
typedef int32_t word;
typedef float narrow __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
#define FMA_OF_REAL __builtin_fmaf
#define EXPONENT_MASK 0x7f800000
#define SIGN_MASK INT32_MIN
#else
typedef double real;
typedef int64_t word;
typedef float narrow __attribute__((vector_size(VECTOR_BYTES / 2), aligned(4), may_alias));
#define FMA_OF_REAL __builtin_fma
#define EXPONENT_MASK 0x7ff0000000000000
#define SIGN_MASK INT64_MIN
#endif
typedef real vec __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef word mask __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef int32_t halves __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
enum { LANES = VECTOR_BYTES / sizeof(real), WIDE_BYTES = 8 * LANES };
typedef double wide __attribute__((vector_size(WIDE_BYTES), aligned(4), may_alias));
typedef uint64_t wide_bits __attribute__((vector_size(WIDE_BYTES), aligned(4), may_alias));

/* x - 0 is x, -0 and NaN included. */
HU_INLINE vec v_set(real x) {
    return x - (vec){0};
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

/* p += x in float32. */
HU_INLINE void v_add_to_state(float *p, vec x) {
    *(narrow *)p += __builtin_convertvector(x, narrow);
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

/* r = a b + c rounded to odd in float64, where a b is exact: s is the nearest number, e its exact
 * error (Knuth's TwoSum); where e is not 0, s steps back to the truncated magnitude and its last
 * bit is set. e is NaN where s is not finite. Pointers: such vectors may be wider than registers.
 */
HU_INLINE void fma_odd(const wide *a, const wide *b, const wide *c, wide *r) {
    wide p = *a * *b, s = p + *c, rest = s - p;
    wide e = (p - (s - rest)) + (*c - rest);
    wide_bits inexact = (wide_bits)((e < 0) | (e > 0)) & 1;
    wide_bits back = ((wide_bits)e ^ (wide_bits)s) >> 63 & inexact;
    *r = (wide)(((wide_bits)s - back) | inexact);
}

/* a b + c, one rounding. Without the instruction: float64 products of the numbers that come here
 * are exact, and rounding to odd keeps float32 results free of a second rounding. */
HU_INLINE vec v_fma(vec a, vec b, vec c) {
#if HAS_FMA
    vec r;
#pragma omp simd
    for (int i = 0; i < LANES; i++) r[i] = FMA_OF_REAL(a[i], b[i], c[i]);
    return r;
#elif HU_GEMM_REAL_BITS == 64
    return a * b + c;
#else
    wide x = __builtin_convertvector(a, wide), y = __builtin_convertvector(b, wide);
    wide r = __builtin_convertvector(c, wide);
    fma_odd(&x, &y, &r, &r);
    return __builtin_convertvector(r, vec);
#endif
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

/* Of powers of two, 1.5 times such, or 0: their lower halves are 0, so that both halves of 64 bits
 * compare as integers. a may be infinite or NaN. */
HU_INLINE vec v_larger(vec a, vec b) {
    halves x = (halves)a, y = (halves)b, r;
#if defined(__clang__) && __has_builtin(__builtin_elementwise_max)
    r = __builtin_elementwise_max(x, y);
#else
#pragma omp simd
    for (int i = 0; i < VECTOR_BYTES / 4; i++) r[i] = x[i] > y[i] ? x[i] : y[i];
#endif
    return (vec)r;
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
    fma_odd((const wide *)&a, (const wide *)&b, (const wide *)&c, (wide *)&r);
    return r;
#else
    return v_fma(a, b, c);
#endif
}

#endif
