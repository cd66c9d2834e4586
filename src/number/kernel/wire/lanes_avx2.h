/* kernel/wire/lanes_avx2.h - vectors of 256 bits for variant.c. The vocabulary is that of
 * lanes_portable.h, which says what each word means. */
#ifndef HU_KERNEL_WIRE_LANES_AVX2_H
#define HU_KERNEL_WIRE_LANES_AVX2_H
#include <immintrin.h>
#include <stdint.h>

#include "kernel/lane.h"

enum { LANES = 8 };

typedef __m256i vec;
typedef __m256i mask;
typedef __m128i shift_count;

HU_INLINE vec v_set(uint32_t word) {
    return _mm256_set1_epi32((int)word);
}
HU_INLINE vec v_load(const void *from) {
    return _mm256_loadu_si256((const __m256i *)from);
}
HU_INLINE void v_store(void *to, vec v) {
    _mm256_storeu_si256((__m256i *)to, v);
}
HU_INLINE shift_count v_shift_by(uint32_t places) {
    return _mm_cvtsi32_si128((int)places);
}
HU_INLINE vec v_left(vec v, shift_count by) {
    return _mm256_sll_epi32(v, by);
}
HU_INLINE vec v_left_by(vec v, uint32_t places) {
    return _mm256_slli_epi32(v, (int)places);
}
HU_INLINE vec v_right(vec v, shift_count by) {
    return _mm256_srl_epi32(v, by);
}
HU_INLINE vec v_right_signed(vec v, shift_count by) {
    return _mm256_sra_epi32(v, by);
}
HU_INLINE vec v_add(vec a, vec b) {
    return _mm256_add_epi32(a, b);
}
HU_INLINE vec v_sub(vec a, vec b) {
    return _mm256_sub_epi32(a, b);
}
HU_INLINE vec v_add_floats(vec a, vec b) {
    return _mm256_castps_si256(_mm256_add_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)));
}
HU_INLINE vec v_multiply_floats(vec a, vec b) {
    return _mm256_castps_si256(_mm256_mul_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)));
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
HU_INLINE vec v_less_of(vec a, vec b) {
    return _mm256_min_epi32(a, b);
}
HU_INLINE vec v_greater_of(vec a, vec b) {
    return _mm256_max_epi32(a, b);
}
HU_INLINE vec v_less_of_unsigned(vec a, vec b) {
    return _mm256_min_epu32(a, b);
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
