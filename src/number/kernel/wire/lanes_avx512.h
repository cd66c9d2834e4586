/* kernel/wire/lanes_avx512.h - vectors of 512 bits for variant.c. The vocabulary is that of
 * lanes_portable.h, which says what each word means. */
#ifndef HU_KERNEL_WIRE_LANES_AVX512_H
#define HU_KERNEL_WIRE_LANES_AVX512_H
#include <immintrin.h>
#include <stdint.h>

#include "kernel/lane.h"

enum { LANES = 16 };

typedef __m512i vec;
typedef __mmask16 mask;
typedef __m128i shift_count;

HU_INLINE vec v_set(uint32_t word) {
    return _mm512_set1_epi32((int)word);
}
HU_INLINE vec v_load(const void *from) {
    return _mm512_loadu_si512(from);
}
HU_INLINE void v_store(void *to, vec v) {
    _mm512_storeu_si512(to, v);
}
HU_INLINE shift_count v_shift_by(uint32_t places) {
    return _mm_cvtsi32_si128((int)places);
}
HU_INLINE vec v_left(vec v, shift_count by) {
    return _mm512_sll_epi32(v, by);
}
HU_INLINE vec v_left_by(vec v, uint32_t places) {
    return _mm512_slli_epi32(v, places);
}
HU_INLINE vec v_right(vec v, shift_count by) {
    return _mm512_srl_epi32(v, by);
}
HU_INLINE vec v_right_signed(vec v, shift_count by) {
    return _mm512_sra_epi32(v, by);
}
HU_INLINE vec v_add(vec a, vec b) {
    return _mm512_add_epi32(a, b);
}
HU_INLINE vec v_sub(vec a, vec b) {
    return _mm512_sub_epi32(a, b);
}
HU_INLINE vec v_add_floats(vec a, vec b) {
    return _mm512_castps_si512(_mm512_add_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
}
HU_INLINE vec v_multiply_floats(vec a, vec b) {
    return _mm512_castps_si512(_mm512_mul_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
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
HU_INLINE vec v_less_of(vec a, vec b) {
    return _mm512_min_epi32(a, b);
}
HU_INLINE vec v_greater_of(vec a, vec b) {
    return _mm512_max_epi32(a, b);
}
HU_INLINE vec v_less_of_unsigned(vec a, vec b) {
    return _mm512_min_epu32(a, b);
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

#endif
