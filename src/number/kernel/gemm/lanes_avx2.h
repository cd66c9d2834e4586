/* kernel/gemm/lanes_avx2.h - vectors of 256 bits for the bodies; HU_GEMM_REAL_BITS = 32 | 64.
 * The vocabulary is that of lanes_portable.h, which says what each word means. */
#ifndef HU_KERNEL_GEMM_LANES_AVX2_H
#define HU_KERNEL_GEMM_LANES_AVX2_H
#include <immintrin.h>

#include "kernel/gemm/tiles_16.h"
#include "kernel/lane.h"

enum { HAS_MANY_REGISTERS = 0 };

#define HU_GEMM_HAS_ODD (HU_GEMM_REAL_BITS == 64)

#if HU_GEMM_REAL_BITS == 32

typedef float real;
typedef __m256 vec;
typedef __m256 mask;
enum { LANES = 8 };

HU_INLINE vec v_set(real x) {
    return _mm256_set1_ps(x);
}
HU_INLINE vec v_load(const real *p) {
    return _mm256_loadu_ps(p);
}
HU_INLINE vec v_load_state(const float *p) {
    return _mm256_loadu_ps(p);
}
HU_INLINE void v_store_state(float *p, vec x) {
    _mm256_storeu_ps(p, x);
}
HU_INLINE void v_add_to_state(float *p, vec x) {
    _mm256_storeu_ps(p, _mm256_add_ps(_mm256_loadu_ps(p), x));
}
HU_INLINE vec v_add(vec a, vec b) {
    return _mm256_add_ps(a, b);
}
HU_INLINE vec v_sub(vec a, vec b) {
    return _mm256_sub_ps(a, b);
}
HU_INLINE vec v_mul(vec a, vec b) {
    return _mm256_mul_ps(a, b);
}
HU_INLINE vec v_fma(vec a, vec b, vec c) {
    return _mm256_fmadd_ps(a, b, c);
}
HU_INLINE vec v_fms(vec a, vec b, vec c) {
    return _mm256_fmsub_ps(a, b, c);
}
HU_INLINE vec v_plus_exact(vec c, vec a, vec b) {
    return _mm256_fmadd_ps(a, b, c);
}
HU_INLINE vec v_minus_exact(vec c, vec a, vec b) {
    return _mm256_fnmadd_ps(a, b, c);
}
HU_INLINE vec v_exponent(vec x) {
    return _mm256_and_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(0x7f800000)));
}
HU_INLINE vec v_magnitude(vec x) {
    return _mm256_and_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff)));
}
/* Numbers that are not negative, which order like their patterns: integers compare in one cycle. */
HU_INLINE vec v_larger(vec a, vec b) {
    return _mm256_castsi256_ps(_mm256_max_epi32(_mm256_castps_si256(a), _mm256_castps_si256(b)));
}
HU_INLINE vec v_copysign(vec magnitude, vec sign) {
    return _mm256_or_ps(magnitude, _mm256_and_ps(sign, _mm256_set1_ps(-0.0f)));
}
HU_INLINE vec v_where(mask m, vec a, vec b) {
    return _mm256_blendv_ps(b, a, m);
}
HU_INLINE vec v_unless(mask m, vec x) {
    return _mm256_andnot_ps(m, x);
}
HU_INLINE mask v_below(vec a, vec b) {
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}
HU_INLINE mask v_reaches(vec a, vec b) {
    return _mm256_cmp_ps(a, b, _CMP_GE_OQ);
}
HU_INLINE mask v_is_nan(vec x) {
    return _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
}
HU_INLINE mask m_both(mask a, mask b) {
    return _mm256_and_ps(a, b);
}
HU_INLINE uint64_t m_count(mask m) {
    return (uint64_t)__builtin_popcount((unsigned)_mm256_movemask_ps(m));
}
HU_INLINE vec v_to_f32(vec x) {
    return x;
}
HU_INLINE vec v_fma_odd(vec a, vec b, vec c) {
    return v_fma(a, b, c);
}

#else

typedef double real;
typedef __m256d vec;
typedef __m256d mask;
enum { LANES = 4 };

HU_INLINE vec v_set(real x) {
    return _mm256_set1_pd(x);
}
HU_INLINE vec v_load(const real *p) {
    return _mm256_loadu_pd(p);
}
HU_INLINE vec v_load_state(const float *p) {
    return _mm256_cvtps_pd(_mm_loadu_ps(p));
}
HU_INLINE void v_store_state(float *p, vec x) {
    _mm_storeu_ps(p, _mm256_cvtpd_ps(x));
}
HU_INLINE void v_add_to_state(float *p, vec x) {
    _mm_storeu_ps(p, _mm_add_ps(_mm_loadu_ps(p), _mm256_cvtpd_ps(x)));
}
HU_INLINE vec v_add(vec a, vec b) {
    return _mm256_add_pd(a, b);
}
HU_INLINE vec v_sub(vec a, vec b) {
    return _mm256_sub_pd(a, b);
}
HU_INLINE vec v_mul(vec a, vec b) {
    return _mm256_mul_pd(a, b);
}
HU_INLINE vec v_fma(vec a, vec b, vec c) {
    return _mm256_fmadd_pd(a, b, c);
}
HU_INLINE vec v_fms(vec a, vec b, vec c) {
    return _mm256_fmsub_pd(a, b, c);
}
HU_INLINE vec v_plus_exact(vec c, vec a, vec b) {
    return _mm256_fmadd_pd(a, b, c);
}
HU_INLINE vec v_minus_exact(vec c, vec a, vec b) {
    return _mm256_fnmadd_pd(a, b, c);
}
HU_INLINE vec v_exponent(vec x) {
    return _mm256_and_pd(x, _mm256_castsi256_pd(_mm256_set1_epi64x(0x7ff0000000000000)));
}
HU_INLINE vec v_magnitude(vec x) {
    return _mm256_andnot_pd(_mm256_set1_pd(-0.0), x);
}
HU_INLINE vec v_larger(vec a, vec b) {
    return _mm256_max_pd(a, b);
}
HU_INLINE vec v_copysign(vec magnitude, vec sign) {
    return _mm256_or_pd(magnitude, _mm256_and_pd(sign, _mm256_set1_pd(-0.0)));
}
HU_INLINE vec v_where(mask m, vec a, vec b) {
    return _mm256_blendv_pd(b, a, m);
}
HU_INLINE vec v_unless(mask m, vec x) {
    return _mm256_andnot_pd(m, x);
}
HU_INLINE mask v_below(vec a, vec b) {
    return _mm256_cmp_pd(a, b, _CMP_LT_OQ);
}
HU_INLINE mask v_reaches(vec a, vec b) {
    return _mm256_cmp_pd(a, b, _CMP_GE_OQ);
}
HU_INLINE mask v_is_nan(vec x) {
    return _mm256_cmp_pd(x, x, _CMP_UNORD_Q);
}
HU_INLINE mask m_both(mask a, mask b) {
    return _mm256_and_pd(a, b);
}
HU_INLINE uint64_t m_count(mask m) {
    return (uint64_t)__builtin_popcount((unsigned)_mm256_movemask_pd(m));
}
HU_INLINE vec v_to_f32(vec x) {
    return _mm256_cvtps_pd(_mm256_cvtpd_ps(x));
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
