/* kernel/pack/lanes_avx2.h - a packer's constants in lanes of 32 bits, and the values of codes with
 * AVX2 intrinsics. For kernels only: names without prefix. */
#ifndef HU_KERNEL_PACK_LANES_AVX2_H
#define HU_KERNEL_PACK_LANES_AVX2_H
#include <immintrin.h>

#include "base/bits.h"
#include "kernel/lane.h"
#include "kernel/pack/pack.h"

/* The constants of a packer, spread over lanes. */
typedef struct lanes {
    __m256i magnitude_mask, rebias, min_normal, grid, hidden, code_max, infinity_code, nan_code,
        nan_sign, first_nan, subnormal_mask;
    __m128i drop, sign_shift;
} lanes;

HU_INLINE __m256i spread(uint32_t word) {
    return _mm256_set1_epi32((int)word);
}

/* nan_sign is shifted already: encode() selects from signs at their place in the code. */
HU_INLINE lanes spread_all(const hu_packer *p) {
    return (lanes){.magnitude_mask = spread(p->magnitude_mask),
                   .rebias = spread(p->rebias),
                   .min_normal = spread(p->min_normal_bits),
                   .grid = spread(p->grid_bits),
                   .hidden = spread(p->hidden),
                   .code_max = spread(p->code_max),
                   .infinity_code = spread(p->infinity_code),
                   .nan_code = spread(p->nan_code),
                   .nan_sign = spread(p->nan_sign >> p->sign_shift),
                   .first_nan = spread(p->first_nan),
                   .subnormal_mask = spread(p->subnormal_mask),
                   .drop = _mm_cvtsi32_si128((int)p->drop),
                   .sign_shift = _mm_cvtsi32_si128((int)p->sign_shift)};
}

/* mask ? yes : no, by lane. */
HU_INLINE __m256i choose(__m256i no, __m256i yes, __m256i mask) {
    return _mm256_blendv_epi8(no, yes, mask);
}

/* Arrays from here on are too large to be found in a cache again: reads are announced ahead, and
 * stores go past the caches, so that the lines written are not read first. */
enum { LARGE = 1 << 23, AHEAD_BYTES = 2048 };

HU_INLINE void put(void *to, __m256i v, int is_large) {
    if (is_large)
        _mm256_stream_si256((__m256i *)to, v);
    else
        _mm256_storeu_si256((__m256i *)to, v);
}

HU_INLINE void announce(const void *from, int is_large) {
    if (is_large) __builtin_prefetch((const char *)from + AHEAD_BYTES);
}

/* Streaming stores need aligned addresses; arrays of tensors are, and others take the plain path.
 */
static int is_large_at(size_t n, const void *to) {
    return n >= LARGE && (uintptr_t)to % 32 == 0;
}

/* Values of 8 codes; without specials every code is finite. */
HU_INLINE void decode(const lanes *c, __m256i code, float *y, int has_specials, int is_large) {
    __m256i magnitude = _mm256_and_si256(code, c->magnitude_mask);
    __m256i sign = _mm256_and_si256(_mm256_sll_epi32(code, c->sign_shift), spread(HU_F32_SIGN));
    __m256i shifted = _mm256_sll_epi32(magnitude, c->drop);
    __m256i normal = _mm256_add_epi32(shifted, c->rebias);
    /* 2^emin plus the fraction, less 2^emin: exact, and the subnormal number that is meant. */
    __m256 above = _mm256_castsi256_ps(_mm256_add_epi32(shifted, c->min_normal));
    __m256i subnormal =
        _mm256_castps_si256(_mm256_sub_ps(above, _mm256_castsi256_ps(c->min_normal)));
    subnormal = _mm256_and_si256(subnormal, c->subnormal_mask);
    __m256i bits = choose(normal, subnormal, _mm256_cmpgt_epi32(c->hidden, magnitude));
    if (has_specials) {
        __m256i is_finite = _mm256_cmpgt_epi32(c->first_nan, magnitude);
        __m256i special = choose(spread(HU_F32_NAN), spread(HU_F32_INFINITY), is_finite);
        bits = choose(bits, special, _mm256_cmpgt_epi32(magnitude, c->code_max));
    }
    put(y, _mm256_or_si256(bits, sign), is_large);
}

#endif
