/* kernel/table/planes_avx512.c - numbers of codes of up to 8 bits: the upper and the lower halves
 * of their float32 patterns are tables of 256 words that lie in registers. */
#include "kernel/pack/pack.h"
#include "kernel/table/lookup.h"
#include "kernel/table/planes.h"

/* A scale moves the exponents of what is neither 0 nor infinite nor NaN. */
HU_INLINE __m512i scaled(__m512i bits, __m512i add) {
    __m512i u = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
    __mmask16 is_number =
        _mm512_test_epi32_mask(u, u) & _mm512_cmplt_epi32_mask(u, _mm512_set1_epi32(0x7f800000));
    return _mm512_mask_sub_epi32(bits, is_number, bits, add);
}

/* has_low: some patterns have more than 16 bits. Both are constant at every call. */
HU_INLINE void unpack_all(const hu_packer *p, size_t whole, const uint8_t *codes, float *y,
                          bool has_low, bool is_scaled) {
    const plane high = load_plane(p->steps->high), low = load_plane(p->steps->low);
    const __m512i add = _mm512_set1_epi32((int)((uint32_t)p->format.bias << 23));
    for (size_t i = 0; i < whole; i += CODES) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(codes + i));
        __m512i code = _mm512_cvtepu8_epi16(bytes), under = _mm512_setzero_si512();
        __mmask32 bit6 = _mm512_test_epi16_mask(code, _mm512_set1_epi16(64));
        __mmask32 bit7 = _mm512_test_epi16_mask(code, _mm512_set1_epi16(128));
        __m512i upper = words_of(&high, code, bit6, bit7);
        if (has_low) under = words_of(&low, code, bit6, bit7);
        HU_UNROLL
        for (int half = 0; half < 2; half++) {
            __m512i bits = _mm512_slli_epi32(widened(upper, half), 16);
            if (has_low) bits = _mm512_or_si512(bits, widened(under, half));
            if (is_scaled) bits = scaled(bits, add);
            _mm512_storeu_si512(y + i + (ptrdiff_t)16 * half, bits);
        }
    }
}

hu_unpack_fn hu_unpack_planes_avx512, hu_unpack_table_8_scalar;
void hu_unpack_planes_avx512(const hu_packer *p, size_t n, const void *codes, float *y) {
    const uint8_t *from = codes;
    size_t whole = n / CODES * CODES;
    if (p->format.bias)
        unpack_all(p, whole, from, y, true, true);
    else if (p->steps->has_low)
        unpack_all(p, whole, from, y, true, false);
    else
        unpack_all(p, whole, from, y, false, false);
    hu_unpack_table_8_scalar(p, n - whole, from + whole, y + whole);
}
