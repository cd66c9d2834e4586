/* kernel/gemm/lanes_avx512.h - vectors of 512 bits for the bodies; HU_GEMM_REAL_BITS = 32 | 64.
 * The vocabulary is that of lanes_portable.h, which says what each word means. */
#ifndef HU_KERNEL_GEMM_LANES_AVX512_H
#define HU_KERNEL_GEMM_LANES_AVX512_H
#include <immintrin.h>

#include "kernel/lane.h"

/* Rows and vectors of the tiles of each mode. */
#define FMACS_WIDE 8, 2
#define FMACS_MIDDLE 0, 0
#define FMACS_NARROW 16, 1
#define MACS_WIDE 8, 2
#define MACS_MIDDLE 0, 0
#define MACS_NARROW 16, 1
#define FMAC_K_WIDE 8, 2
#define FMAC_K_MIDDLE 0, 0
#define FMAC_K_NARROW 16, 1
#define MAC_WIDE 8, 2
#define MAC_MIDDLE 0, 0
#define MAC_NARROW 16, 1
#define KAHAN_WIDE 6, 2
#define KAHAN_MIDDLE 0, 0
#define KAHAN_NARROW 12, 1
#define KAHAN_CPD_WIDE 6, 2
#define KAHAN_CPD_MIDDLE 0, 0
#define KAHAN_CPD_NARROW 12, 1

/* Times of a multiply-accumulate beside those of the wide shape: FMACS reads nearly two numbers for
 * each in the narrow one; where rounding is most of the work, the broadcasts of that shape are
 * operands of the instructions that need them, and it is the faster one unless each step multiplies
 * twice to round to odd (measured). */
#define HU_GEMM_MIDDLE_COST 1.0
#define HU_GEMM_NARROW_COST(mode, is_odd) ((mode) == HU_MAC_FMACS ? 1.125 : (is_odd) ? 1.02 : 0.97)
enum { HAS_MANY_REGISTERS = 1 };
#define HU_GEMM_HAS_ODD 1

#if HU_GEMM_REAL_BITS == 32

typedef float real;
typedef __m512 vec;
typedef __mmask16 mask;
enum { LANES = 16 };

HU_INLINE vec v_set(real x) {
    return _mm512_set1_ps(x);
}
HU_INLINE vec v_load(const real *p) {
    return _mm512_loadu_ps(p);
}
HU_INLINE vec v_load_state(const float *p) {
    return _mm512_loadu_ps(p);
}
HU_INLINE void v_store_state(float *p, vec x) {
    _mm512_storeu_ps(p, x);
}
HU_INLINE void v_add_to_state(float *p, vec x) {
    _mm512_storeu_ps(p, _mm512_add_ps(_mm512_loadu_ps(p), x));
}
HU_INLINE vec v_add(vec a, vec b) {
    return _mm512_add_ps(a, b);
}
HU_INLINE vec v_sub(vec a, vec b) {
    return _mm512_sub_ps(a, b);
}
HU_INLINE vec v_mul(vec a, vec b) {
    return _mm512_mul_ps(a, b);
}
HU_INLINE vec v_fma(vec a, vec b, vec c) {
    return _mm512_fmadd_ps(a, b, c);
}
HU_INLINE vec v_fms(vec a, vec b, vec c) {
    return _mm512_fmsub_ps(a, b, c);
}
HU_INLINE vec v_plus_exact(vec c, vec a, vec b) {
    return _mm512_fmadd_ps(a, b, c);
}
HU_INLINE vec v_minus_exact(vec c, vec a, vec b) {
    return _mm512_fnmadd_ps(a, b, c);
}
HU_INLINE vec v_exponent(vec x) {
    return _mm512_and_ps(x, _mm512_castsi512_ps(_mm512_set1_epi32(0x7f800000)));
}
HU_INLINE vec v_magnitude(vec x) {
    return _mm512_abs_ps(x);
}
HU_INLINE vec v_larger(vec a, vec b) {
    return _mm512_max_ps(a, b);
}
HU_INLINE vec v_copysign(vec magnitude, vec sign) {
    return _mm512_or_ps(magnitude, _mm512_and_ps(sign, _mm512_set1_ps(-0.0f)));
}
HU_INLINE vec v_where(mask m, vec a, vec b) {
    return _mm512_mask_blend_ps(m, b, a);
}
HU_INLINE vec v_unless(mask m, vec x) {
    return _mm512_maskz_mov_ps((mask)~m, x);
}
HU_INLINE mask v_below(vec a, vec b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
HU_INLINE mask v_reaches(vec a, vec b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ);
}
HU_INLINE mask v_is_nan(vec x) {
    return _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
}
HU_INLINE mask m_both(mask a, mask b) {
    return (mask)(a & b);
}
HU_INLINE uint64_t m_count(mask m) {
    return (uint64_t)__builtin_popcount(m);
}
HU_INLINE vec v_to_f32(vec x) {
    return x;
}
/* Of the two neighbours, which are equal where the result is exact, the one whose last bit is
 * set. */
HU_INLINE vec v_fma_odd(vec a, vec b, vec c) {
    vec low = _mm512_fmadd_round_ps(a, b, c, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    vec high = _mm512_fmadd_round_ps(a, b, c, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
    mask odd = _mm512_test_epi32_mask(_mm512_castps_si512(low), _mm512_set1_epi32(1));
    return _mm512_mask_blend_ps(odd, high, low);
}

#else

typedef double real;
typedef __m512d vec;
typedef __mmask8 mask;
enum { LANES = 8 };

HU_INLINE vec v_set(real x) {
    return _mm512_set1_pd(x);
}
HU_INLINE vec v_load(const real *p) {
    return _mm512_loadu_pd(p);
}
HU_INLINE vec v_load_state(const float *p) {
    return _mm512_cvtps_pd(_mm256_loadu_ps(p));
}
HU_INLINE void v_store_state(float *p, vec x) {
    _mm256_storeu_ps(p, _mm512_cvtpd_ps(x));
}
HU_INLINE void v_add_to_state(float *p, vec x) {
    _mm256_storeu_ps(p, _mm256_add_ps(_mm256_loadu_ps(p), _mm512_cvtpd_ps(x)));
}
HU_INLINE vec v_add(vec a, vec b) {
    return _mm512_add_pd(a, b);
}
HU_INLINE vec v_sub(vec a, vec b) {
    return _mm512_sub_pd(a, b);
}
HU_INLINE vec v_mul(vec a, vec b) {
    return _mm512_mul_pd(a, b);
}
HU_INLINE vec v_fma(vec a, vec b, vec c) {
    return _mm512_fmadd_pd(a, b, c);
}
HU_INLINE vec v_fms(vec a, vec b, vec c) {
    return _mm512_fmsub_pd(a, b, c);
}
HU_INLINE vec v_plus_exact(vec c, vec a, vec b) {
    return _mm512_fmadd_pd(a, b, c);
}
HU_INLINE vec v_minus_exact(vec c, vec a, vec b) {
    return _mm512_fnmadd_pd(a, b, c);
}
HU_INLINE vec v_exponent(vec x) {
    return _mm512_and_pd(x, _mm512_castsi512_pd(_mm512_set1_epi64(0x7ff0000000000000)));
}
HU_INLINE vec v_magnitude(vec x) {
    return _mm512_abs_pd(x);
}
HU_INLINE vec v_larger(vec a, vec b) {
    return _mm512_max_pd(a, b);
}
HU_INLINE vec v_copysign(vec magnitude, vec sign) {
    return _mm512_or_pd(magnitude, _mm512_and_pd(sign, _mm512_set1_pd(-0.0)));
}
HU_INLINE vec v_where(mask m, vec a, vec b) {
    return _mm512_mask_blend_pd(m, b, a);
}
HU_INLINE vec v_unless(mask m, vec x) {
    return _mm512_maskz_mov_pd((mask)~m, x);
}
HU_INLINE mask v_below(vec a, vec b) {
    return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ);
}
HU_INLINE mask v_reaches(vec a, vec b) {
    return _mm512_cmp_pd_mask(a, b, _CMP_GE_OQ);
}
HU_INLINE mask v_is_nan(vec x) {
    return _mm512_cmp_pd_mask(x, x, _CMP_UNORD_Q);
}
HU_INLINE mask m_both(mask a, mask b) {
    return (mask)(a & b);
}
HU_INLINE uint64_t m_count(mask m) {
    return (uint64_t)__builtin_popcount(m);
}
HU_INLINE vec v_to_f32(vec x) {
    return _mm512_cvtps_pd(_mm512_cvtpd_ps(x));
}
/* Of the two neighbours, which are equal where the result is exact, the one whose last bit is
 * set. */
HU_INLINE vec v_fma_odd(vec a, vec b, vec c) {
    vec low = _mm512_fmadd_round_pd(a, b, c, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    vec high = _mm512_fmadd_round_pd(a, b, c, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
    mask odd = _mm512_test_epi64_mask(_mm512_castpd_si512(low), _mm512_set1_epi64(1));
    return _mm512_mask_blend_pd(odd, high, low);
}

#endif
#endif
