/* kernel/table/planes.h - float32 patterns of up to 256 codes as two tables of words, their upper
 * and lower halves, that lie in registers of AVX-512. For bodies only: names without prefix. */
#ifndef HU_KERNEL_TABLE_PLANES_H
#define HU_KERNEL_TABLE_PLANES_H
#include <immintrin.h>

#include "kernel/lane.h"

enum { CODES = 32, WORDS = 256, REGISTERS = WORDS / CODES };

/* Half of all patterns. */
typedef struct plane {
    __m512i word[REGISTERS];
} plane;

HU_INLINE plane load_plane(const uint16_t *words) {
    plane p;
    HU_UNROLL
    for (int i = 0; i < REGISTERS; i++)
        p.word[i] = _mm512_loadu_si512(words + (ptrdiff_t)CODES * i);
    return p;
}

/* Words of 32 codes: four tables of 64 entries, of which two bits of the code choose. */
HU_INLINE __m512i words_of(const plane *p, __m512i code, __mmask32 bit6, __mmask32 bit7) {
    __m512i a = _mm512_permutex2var_epi16(p->word[0], code, p->word[1]);
    __m512i b = _mm512_permutex2var_epi16(p->word[2], code, p->word[3]);
    __m512i c = _mm512_permutex2var_epi16(p->word[4], code, p->word[5]);
    __m512i d = _mm512_permutex2var_epi16(p->word[6], code, p->word[7]);
    return _mm512_mask_mov_epi16(_mm512_mask_mov_epi16(a, bit6, b), bit7,
                                 _mm512_mask_mov_epi16(c, bit6, d));
}

HU_INLINE __m512i widened(__m512i words, int half) {
    return _mm512_cvtepu16_epi32(half ? _mm512_extracti64x4_epi64(words, 1)
                                      : _mm512_castsi512_si256(words));
}

#endif
