/* kernel/gemm/lanes_x86.h - vectors of 256 or 512 bits for the bodies; HU_GEMM_REAL_BITS = 32 | 64.
 * The vocabulary is that of lanes_portable.h, which says what each word means. */
#ifndef HU_KERNEL_GEMM_LANES_X86_H
#define HU_KERNEL_GEMM_LANES_X86_H
#include "kernel/gemm/tiles.h"
#include "kernel/lane.h"
#include "kernel/simd/x86.h"

#if HU_GEMM_REAL_BITS == 32
typedef float real;
#define REAL(operation) SIMD(operation##_ps)
#else
typedef double real;
#define REAL(operation) SIMD(operation##_pd)
#endif

#if defined(__AVX512F__)
enum { HAS_MANY_REGISTERS = 1, LANES = 64 / sizeof(real) };
#define HU_GEMM_HAS_ODD 1
#if HU_GEMM_REAL_BITS == 32
typedef __m512 vec;
typedef __mmask16 mask;
#define COMPARE(a, b, how) _mm512_cmp_ps_mask(a, b, how)
#else
typedef __m512d vec;
typedef __mmask8 mask;
#define COMPARE(a, b, how) _mm512_cmp_pd_mask(a, b, how)
#endif
#else
enum { HAS_MANY_REGISTERS = 0, LANES = 32 / sizeof(real) };
#define HU_GEMM_HAS_ODD (HU_GEMM_REAL_BITS == 64)
#if HU_GEMM_REAL_BITS == 32
typedef __m256 vec;
#else
typedef __m256d vec;
#endif
typedef vec mask;
#define COMPARE(a, b, how) REAL(cmp)(a, b, how)
#endif

HU_INLINE vec v_set(real x) {
    return REAL(set1)(x);
}
HU_INLINE vec v_load(const real *p) {
    return REAL(loadu)(p);
}
HU_INLINE vec v_add(vec a, vec b) {
    return REAL(add)(a, b);
}
HU_INLINE vec v_sub(vec a, vec b) {
    return REAL(sub)(a, b);
}
HU_INLINE vec v_mul(vec a, vec b) {
    return REAL(mul)(a, b);
}
HU_INLINE vec v_fma(vec a, vec b, vec c) {
    return REAL(fmadd)(a, b, c);
}
HU_INLINE vec v_fms(vec a, vec b, vec c) {
    return REAL(fmsub)(a, b, c);
}
HU_INLINE vec v_plus_exact(vec c, vec a, vec b) {
    return REAL(fmadd)(a, b, c);
}
HU_INLINE vec v_minus_exact(vec c, vec a, vec b) {
    return REAL(fnmadd)(a, b, c);
}
HU_INLINE vec v_exponent(vec x) {
    return REAL(and)(x, v_set((real)__builtin_inf()));
}
HU_INLINE vec v_copysign(vec magnitude, vec sign) {
    return REAL(or)(magnitude, REAL(and)(sign, v_set((real)-0.0)));
}
HU_INLINE mask v_below(vec a, vec b) {
    return COMPARE(a, b, _CMP_LT_OQ);
}
HU_INLINE mask v_reaches(vec a, vec b) {
    return COMPARE(a, b, _CMP_GE_OQ);
}
HU_INLINE mask v_is_nan(vec x) {
    return COMPARE(x, x, _CMP_UNORD_Q);
}

/* ---- states, which are float32 ---- */

#if HU_GEMM_REAL_BITS == 32
HU_INLINE vec v_load_state(const float *p) {
    return v_load(p);
}
HU_INLINE void v_store_state(float *p, vec x) {
    REAL(storeu)(p, x);
}
HU_INLINE void v_add_to_state(float *p, vec x) {
    v_store_state(p, v_add(v_load(p), x));
}
HU_INLINE vec v_to_f32(vec x) {
    return x;
}
#else
#if defined(__AVX512F__)
#define NARROW(operation) _mm256_##operation##_ps
#else
#define NARROW(operation) _mm_##operation##_ps
#endif
HU_INLINE vec v_load_state(const float *p) {
    return SIMD(cvtps_pd)(NARROW(loadu)(p));
}
HU_INLINE void v_store_state(float *p, vec x) {
    NARROW(storeu)(p, SIMD(cvtpd_ps)(x));
}
HU_INLINE void v_add_to_state(float *p, vec x) {
    NARROW(storeu)(p, NARROW(add)(NARROW(loadu)(p), SIMD(cvtpd_ps)(x)));
}
HU_INLINE vec v_to_f32(vec x) {
    return SIMD(cvtps_pd)(SIMD(cvtpd_ps)(x));
}
#undef NARROW
#endif

/* ---- masks, magnitudes and rounding to odd ---- */

#if defined(__AVX512F__)
HU_INLINE vec v_magnitude(vec x) {
    return REAL(abs)(x);
}
HU_INLINE vec v_larger(vec a, vec b) {
    return REAL(max)(a, b);
}
HU_INLINE vec v_where(mask m, vec a, vec b) {
    return REAL(mask_blend)(m, b, a);
}
HU_INLINE vec v_unless(mask m, vec x) {
    return REAL(maskz_mov)((mask)~m, x);
}
HU_INLINE mask m_both(mask a, mask b) {
    return (mask)(a & b);
}
HU_INLINE uint64_t m_count(mask m) {
    return (uint64_t)__builtin_popcount(m);
}
/* Of the two neighbours, which are equal where the result is exact, the one whose last bit is
 * set. */
HU_INLINE vec v_fma_odd(vec a, vec b, vec c) {
    vec low = REAL(fmadd_round)(a, b, c, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    vec high = REAL(fmadd_round)(a, b, c, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
#if HU_GEMM_REAL_BITS == 32
    mask odd = _mm512_test_epi32_mask(_mm512_castps_si512(low), _mm512_set1_epi32(1));
#else
    mask odd = _mm512_test_epi64_mask(_mm512_castpd_si512(low), _mm512_set1_epi64(1));
#endif
    return v_where(odd, low, high);
}
#else
HU_INLINE vec v_where(mask m, vec a, vec b) {
    return REAL(blendv)(b, a, m);
}
HU_INLINE vec v_unless(mask m, vec x) {
    return REAL(andnot)(m, x);
}
HU_INLINE mask m_both(mask a, mask b) {
    return REAL(and)(a, b);
}
HU_INLINE uint64_t m_count(mask m) {
    return (uint64_t)__builtin_popcount((unsigned)REAL(movemask)(m));
}
#if HU_GEMM_REAL_BITS == 32
HU_INLINE vec v_magnitude(vec x) {
    return _mm256_and_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff)));
}
/* Numbers that are not negative, which order like their patterns: integers compare in one cycle. */
HU_INLINE vec v_larger(vec a, vec b) {
    return _mm256_castsi256_ps(_mm256_max_epi32(_mm256_castps_si256(a), _mm256_castps_si256(b)));
}
HU_INLINE vec v_fma_odd(vec a, vec b, vec c) {
    return v_fma(a, b, c);
}
#else
HU_INLINE vec v_magnitude(vec x) {
    return _mm256_andnot_pd(_mm256_set1_pd(-0.0), x);
}
HU_INLINE vec v_larger(vec a, vec b) {
    return _mm256_max_pd(a, b);
}
/* s = nearest, e its exact error (Knuth's TwoSum of c and the exact product a b, whose part in it
 * one fused step gives): where e is not 0, s steps back to the truncated magnitude and its last bit
 * is set. */
HU_INLINE vec v_fma_odd(vec a, vec b, vec c) {
    const vec zero = _mm256_setzero_pd();
    vec s = v_fma(a, b, c), product = v_sub(s, c);
    vec e = v_add(v_sub(c, v_sub(s, product)), v_fms(a, b, product));
    __m256i signs = _mm256_castpd_si256(_mm256_xor_pd(e, s));
    __m256i back = _mm256_cmpgt_epi64(_mm256_setzero_si256(), signs);
    __m256i odd =
        _mm256_or_si256(_mm256_add_epi64(_mm256_castpd_si256(s), back), _mm256_set1_epi64x(1));
    return v_where(_mm256_cmp_pd(e, zero, _CMP_NEQ_OQ), _mm256_castsi256_pd(odd), s);
}
#endif
#endif

#endif
