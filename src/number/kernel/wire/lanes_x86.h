/* kernel/wire/lanes_x86.h - vectors of 256 or 512 bits for variant.c. The vocabulary is that of
 * lanes_portable.h, which says what each word means. */
#ifndef HU_KERNEL_WIRE_LANES_X86_H
#define HU_KERNEL_WIRE_LANES_X86_H
#include <stdint.h>

#include "kernel/lane.h"
#include "kernel/simd/x86.h"

typedef simd_words vec;
typedef __m128i shift_count;
enum { LANES = sizeof(vec) / sizeof(uint32_t) };

HU_INLINE vec v_set(uint32_t word) {
    return SIMD(set1_epi32)((int)word);
}
HU_INLINE shift_count v_shift_by(uint32_t places) {
    return _mm_cvtsi32_si128((int)places);
}
HU_INLINE vec v_left(vec v, shift_count by) {
    return SIMD(sll_epi32)(v, by);
}
HU_INLINE vec v_right(vec v, shift_count by) {
    return SIMD(srl_epi32)(v, by);
}
HU_INLINE vec v_right_signed(vec v, shift_count by) {
    return SIMD(sra_epi32)(v, by);
}
HU_INLINE vec v_add(vec a, vec b) {
    return SIMD(add_epi32)(a, b);
}
HU_INLINE vec v_sub(vec a, vec b) {
    return SIMD(sub_epi32)(a, b);
}
HU_INLINE vec v_add_floats(vec a, vec b) {
    return SIMD_WORDS_OF_FLOATS(SIMD(add_ps)(SIMD_FLOATS_OF_WORDS(a), SIMD_FLOATS_OF_WORDS(b)));
}
HU_INLINE vec v_multiply_floats(vec a, vec b) {
    return SIMD_WORDS_OF_FLOATS(SIMD(mul_ps)(SIMD_FLOATS_OF_WORDS(a), SIMD_FLOATS_OF_WORDS(b)));
}
HU_INLINE vec v_less_of(vec a, vec b) {
    return SIMD(min_epi32)(a, b);
}
HU_INLINE vec v_greater_of(vec a, vec b) {
    return SIMD(max_epi32)(a, b);
}
HU_INLINE vec v_less_of_unsigned(vec a, vec b) {
    return SIMD(min_epu32)(a, b);
}

#if defined(__AVX512F__)
typedef __mmask16 mask;

HU_INLINE vec v_load(const void *from) {
    return _mm512_loadu_si512(from);
}
HU_INLINE void v_store(void *to, vec v) {
    _mm512_storeu_si512(to, v);
}
HU_INLINE vec v_left_by(vec v, uint32_t places) {
    return _mm512_slli_epi32(v, places);
}
HU_INLINE mask v_is_nan(vec v) {
    __m512 x = _mm512_castsi512_ps(v);
    return _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
}
HU_INLINE mask v_greater(vec a, vec b) {
    return _mm512_cmpgt_epi32_mask(a, b);
}
HU_INLINE mask v_equal(vec a, vec b) {
    return _mm512_cmpeq_epi32_mask(a, b);
}
HU_INLINE int v_any_greater_8(vec a, vec b, vec limit) {
    return (_mm512_cmpgt_epi8_mask(a, limit) | _mm512_cmpgt_epi8_mask(b, limit)) != 0;
}
HU_INLINE int v_any_greater_16(vec a, vec b, vec limit) {
    return (_mm512_cmpgt_epi16_mask(a, limit) | _mm512_cmpgt_epi16_mask(b, limit)) != 0;
}
HU_INLINE vec v_choose(mask is, vec yes, vec no) {
    return _mm512_mask_mov_epi32(no, is, yes);
}
HU_INLINE vec v_or_where(mask is, vec v, vec bits) {
    return _mm512_mask_or_epi32(v, is, v, bits);
}
HU_INLINE vec v_zero_where(mask is, vec v) {
    return _mm512_maskz_mov_epi32(_knot_mask16(is), v);
}
HU_INLINE vec v_count(vec counter, mask is) {
    return _mm512_mask_sub_epi32(counter, is, counter, _mm512_set1_epi32(-1));
}
HU_INLINE void v_store_8(uint8_t *to, const vec codes[4]) {
    HU_UNROLL
    for (int v = 0; v < 4; v++)
        _mm_storeu_si128((__m128i *)(void *)(to + v * LANES), _mm512_cvtepi32_epi8(codes[v]));
}
HU_INLINE void v_store_16(uint16_t *to, const vec codes[2]) {
    HU_UNROLL
    for (int v = 0; v < 2; v++)
        _mm256_storeu_si256((__m256i *)(void *)(to + v * LANES), _mm512_cvtepi32_epi16(codes[v]));
}
#else
typedef vec mask;

HU_INLINE vec v_load(const void *from) {
    return _mm256_loadu_si256((const __m256i *)from);
}
HU_INLINE void v_store(void *to, vec v) {
    _mm256_storeu_si256((__m256i *)to, v);
}
HU_INLINE vec v_left_by(vec v, uint32_t places) {
    return _mm256_slli_epi32(v, (int)places);
}
HU_INLINE mask v_is_nan(vec v) {
    __m256 x = _mm256_castsi256_ps(v);
    return _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}
HU_INLINE mask v_greater(vec a, vec b) {
    return _mm256_cmpgt_epi32(a, b);
}
HU_INLINE mask v_equal(vec a, vec b) {
    return _mm256_cmpeq_epi32(a, b);
}
HU_INLINE int v_any_greater_8(vec a, vec b, vec limit) {
    vec any = _mm256_cmpgt_epi8(a, limit) | _mm256_cmpgt_epi8(b, limit);
    return !_mm256_testz_si256(any, any);
}
HU_INLINE int v_any_greater_16(vec a, vec b, vec limit) {
    vec any = _mm256_cmpgt_epi16(a, limit) | _mm256_cmpgt_epi16(b, limit);
    return !_mm256_testz_si256(any, any);
}
HU_INLINE vec v_choose(mask is, vec yes, vec no) {
    return _mm256_blendv_epi8(no, yes, is);
}
HU_INLINE vec v_or_where(mask is, vec v, vec bits) {
    return _mm256_or_si256(v, _mm256_and_si256(is, bits));
}
HU_INLINE vec v_zero_where(mask is, vec v) {
    return _mm256_andnot_si256(is, v);
}
HU_INLINE vec v_count(vec counter, mask is) {
    return _mm256_sub_epi32(counter, is);
}
/* Packs narrow with saturation, which no code reaches, and within 128-bit halves: groups of four
 * codes come out as 0 2 4 6, 1 3 5 7. */
HU_INLINE void v_store_8(uint8_t *to, const vec codes[4]) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i low = _mm256_packus_epi32(codes[0], codes[1]);
    __m256i high = _mm256_packus_epi32(codes[2], codes[3]);
    v_store(to, _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order));
}
HU_INLINE void v_store_16(uint16_t *to, const vec codes[2]) {
    v_store(to, _mm256_permute4x64_epi64(_mm256_packus_epi32(codes[0], codes[1]), 0xd8));
}
#endif

#endif
