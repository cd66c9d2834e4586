/* Rounding by addition, counting and packing to 8 or 16 bits, with AVX2 intrinsics: as
 * vector_avx512.c, with codes that are whole lanes before they are narrowed. Same bits as rounder
 * and packer. */
#include <immintrin.h>

#include "kernel/encode/vector.h"

enum { VECTORS = 4, GROUP = 8 * VECTORS };

/* The constants of rounder and packer, spread over lanes. */
typedef struct constants {
    __m256i emin, lift, max, min_normal, infinity, overflow, overflow_code, nan_code, nan_sign;
    __m256i exponent, magnitude, sign; /* of codes: parts of them */
    __m256 threshold;
    __m128i drop;
} constants;

/* What was counted, in part by lanes. plain: numbers of groups that are normal, which add to
 * nothing else but the extremes; for have_looked alone. under: not less 1, as in tally. */
typedef struct counters {
    uint64_t plain, beyond, nan, below, zero_before;
    __m256i zero_in, top, under;
} counters;

HU_INLINE __m256i spread(uint32_t word) {
    return _mm256_set1_epi32((int)word);
}

HU_INLINE constants constants_of(const hu_rounder *r, const hu_packer *p) {
    uint32_t sign = 1u << (p->code_bits - 1);
    return (constants){.emin = spread(r->emin_bits),
                       .lift = spread(r->drop << 23),
                       .max = spread(r->max_bits),
                       .min_normal = spread(r->min_normal_bits),
                       .infinity = spread(HU_F32_INFINITY),
                       .overflow = spread(r->overflow_value[0] & ~HU_F32_SIGN),
                       .overflow_code = spread(overflow_code(r, p)),
                       .nan_code = spread(p->nan_code),
                       .nan_sign = spread(p->nan_sign),
                       .exponent = spread(repeated(p, sign - p->hidden)),
                       .magnitude = spread(repeated(p, sign - 1)),
                       .sign = spread(repeated(p, sign)),
                       .threshold = _mm256_set1_ps(r->threshold),
                       .drop = _mm_cvtsi32_si128((int)r->drop)};
}

/* Lanes of a mask of vectors of 32 bits. */
HU_INLINE uint64_t lanes_of(__m256i mask) {
    return (uint64_t)__builtin_popcount((uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(mask)));
}

/* One vector of a group whose numbers are all within the largest finite one, rounded. */
HU_INLINE __m256i round_lanes(const constants *c, code_kind kind, __m256i u, __m256i *code) {
    if (kind == HALF_OF_32) {
        __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), spread(1));
        __m256i sum = _mm256_add_epi32(_mm256_add_epi32(u, spread(0x7fff)), odd);
        *code = _mm256_srli_epi32(sum, 16);
        return _mm256_slli_epi32(*code, 16);
    }
    __m256i k = _mm256_max_epu32(_mm256_and_si256(u, c->infinity), c->emin);
    __m256i lift = _mm256_add_epi32(k, c->lift);
    __m256 sum = _mm256_add_ps(_mm256_castsi256_ps(u), _mm256_castsi256_ps(lift));
    __m256i quanta = _mm256_sub_epi32(_mm256_castps_si256(sum), lift);
    *code = _mm256_add_epi32(quanta, _mm256_srl_epi32(_mm256_sub_epi32(k, c->emin), c->drop));
    return _mm256_castps_si256(_mm256_sub_ps(sum, _mm256_castsi256_ps(lift)));
}

/* Overflows and NaNs of one vector: their results, codes and counts. */
HU_INLINE void replace(const constants *c, __m256i u, __m256i *x, __m256i *v, __m256i *code,
                       counters *t) {
    __m256i over =
        _mm256_castps_si256(_mm256_cmp_ps(_mm256_castsi256_ps(u), c->threshold, _CMP_GE_OQ));
    __m256i nan = _mm256_cmpgt_epi32(u, c->infinity);
    *v = _mm256_blendv_epi8(*v, c->overflow, over);
    *v = _mm256_blendv_epi8(*v, _mm256_or_si256(u, spread(HU_F32_QUIET)), nan);
    *code = _mm256_blendv_epi8(*code, c->overflow_code, over);
    *code = _mm256_blendv_epi8(*code, c->nan_code, nan);
    *x = _mm256_blendv_epi8(*x, _mm256_and_si256(*x, c->nan_sign), nan);
    t->beyond += lanes_of(over);
    t->nan += lanes_of(nan);
}

/* Codes of 8 bits of a group with their signs. Narrowing x saturates, which sign bits survive; it
 * leaves the dwords 0 4, 1 5, ... */
HU_INLINE void put_8(const constants *c, const __m256i *x, const __m256i *code, void *to,
                     __m256i *codes) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i all = _mm256_packus_epi16(_mm256_packs_epi32(code[0], code[1]),
                                      _mm256_packs_epi32(code[2], code[3]));
    __m256i sign =
        _mm256_packs_epi16(_mm256_packs_epi32(x[0], x[1]), _mm256_packs_epi32(x[2], x[3]));
    codes[0] = _mm256_or_si256(all, _mm256_and_si256(sign, c->sign));
    _mm256_storeu_si256(to, _mm256_permutevar8x32_epi32(codes[0], order));
}

/* The same of 16 bits, in two vectors; narrowing leaves the quadwords 0 2, 1 3. */
HU_INLINE void put_16(const constants *c, const __m256i *x, const __m256i *code, void *to,
                      __m256i *codes) {
    HU_UNROLL
    for (int k = 0; k < 2; k++) {
        __m256i all = _mm256_packus_epi32(code[2 * k], code[2 * k + 1]);
        __m256i sign = _mm256_packs_epi32(x[2 * k], x[2 * k + 1]);
        codes[k] = _mm256_or_si256(all, _mm256_and_si256(sign, c->sign));
        __m256i out = _mm256_permute4x64_epi64(codes[k], 0xd8);
        _mm256_storeu_si256((__m256i *)(void *)((uint16_t *)to + 16 * k), out);
    }
}

/* Counts of what came in, magnitudes u. */
HU_INLINE void count_inputs(const __m256i *u, counters *t) {
    HU_UNROLL
    for (int k = 0; k < VECTORS; k++) {
        __m256i is_zero = _mm256_cmpeq_epi32(u[k], _mm256_setzero_si256());
        t->zero_in = _mm256_sub_epi32(t->zero_in, is_zero);
        t->under = _mm256_min_epu32(t->under, _mm256_or_si256(u[k], is_zero));
    }
}

/* Counts of rounded numbers, magnitudes v. */
HU_INLINE void count_numbers(const constants *c, const __m256i *v, counters *t) {
    HU_UNROLL
    for (int k = 0; k < VECTORS; k++) {
        t->zero_before += lanes_of(_mm256_cmpeq_epi32(v[k], _mm256_setzero_si256()));
        t->below += lanes_of(_mm256_cmpgt_epi32(c->min_normal, v[k]));
    }
}

/* Codes of a group without any of these bits. */
HU_INLINE uint64_t without_bits(code_kind kind, const __m256i *codes, __m256i bits) {
    const __m256i zero = _mm256_setzero_si256();
    __m256i none;
    if (kind == BITS_8)
        none = _mm256_cmpeq_epi8(_mm256_and_si256(codes[0], bits), zero);
    else
        none = _mm256_packs_epi16(_mm256_cmpeq_epi16(_mm256_and_si256(codes[0], bits), zero),
                                  _mm256_cmpeq_epi16(_mm256_and_si256(codes[1], bits), zero));
    return (uint64_t)__builtin_popcount((uint32_t)_mm256_movemask_epi8(none));
}

/* One group x with the magnitudes u. is_calm: all of them are within the largest finite number; the
 * codes of others do not tell what they are, and those of normal numbers have a bit of the
 * exponent. is_normal: none is below the smallest normal number, so that none becomes one that is.
 */
HU_INLINE void encode_group(const constants *c, code_kind kind, __m256i *x, const __m256i *u,
                            float *y, void *codes, counters *t, bool is_in_range, bool is_normal) {
    __m256i v[VECTORS], code[VECTORS], packed[2];
    if (!is_normal) count_inputs(u, t);
    HU_UNROLL
    for (int k = 0; k < VECTORS; k++) {
        __m256i sign = _mm256_and_si256(x[k], spread(HU_F32_SIGN));
        v[k] = round_lanes(c, kind, u[k], &code[k]);
        if (!is_in_range) replace(c, u[k], &x[k], &v[k], &code[k], t);
        if (y)
            _mm256_storeu_si256((__m256i *)(void *)(y + (ptrdiff_t)8 * k),
                                _mm256_or_si256(v[k], sign));
    }
    if (kind == BITS_8)
        put_8(c, x, code, codes, packed);
    else
        put_16(c, x, code, codes, packed);
    if (!is_in_range) {
        count_numbers(c, v, t);
    } else if (!is_normal) {
        t->zero_before += without_bits(kind, packed, c->magnitude);
        t->below += without_bits(kind, packed, c->exponent);
    }
}

/* Largest finite magnitude of a group that has others. */
HU_INLINE __m256i finite_top(const constants *c, const __m256i *u, __m256i top) {
    HU_UNROLL
    for (int k = 0; k < VECTORS; k++) {
        __m256i finite = _mm256_cmpgt_epi32(c->infinity, u[k]);
        top = _mm256_max_epu32(top, _mm256_and_si256(u[k], finite));
    }
    return top;
}

/* A block of groups. kind, looks_low (whether normal ones are looked for), and y, NULL where it is
 * not wanted, are constants of each loop. */
HU_INLINE void encode_block(const constants *c, code_kind kind, bool looks_low, size_t n,
                            const float *x, float *y, uint8_t *codes, counters *t) {
    const size_t bytes = kind == BITS_8 ? 1 : 2;
    for (size_t i = 0; i < n; i += GROUP) {
        __m256i in[VECTORS], u[VECTORS];
        HU_UNROLL
        for (int k = 0; k < VECTORS; k++) {
            in[k] = _mm256_castps_si256(_mm256_loadu_ps(x + i + (ptrdiff_t)8 * k));
            u[k] = _mm256_and_si256(in[k], spread(~HU_F32_SIGN));
        }
        __m256i top = _mm256_max_epu32(_mm256_max_epu32(u[0], u[1]), _mm256_max_epu32(u[2], u[3]));
        __m256i low = _mm256_min_epu32(_mm256_min_epu32(u[0], u[1]), _mm256_min_epu32(u[2], u[3]));
        float *to = y ? y + i : NULL;
        __m256i large = _mm256_cmpgt_epi32(top, c->max);
        __m256i small = _mm256_cmpgt_epi32(c->min_normal, low);
        if (__builtin_expect(!_mm256_testz_si256(large, large), 0)) {
            t->top = finite_top(c, u, t->top);
            encode_group(c, kind, in, u, to, codes + i * bytes, t, false, false);
            continue;
        }
        t->top = _mm256_max_epu32(t->top, top);
        if (!looks_low || !_mm256_testz_si256(small, small)) {
            encode_group(c, kind, in, u, to, codes + i * bytes, t, true, false);
            continue;
        }
        t->under = _mm256_min_epu32(t->under, low);
        t->plain += GROUP;
        encode_group(c, kind, in, u, to, codes + i * bytes, t, true, true);
    }
}

/* count: of all, which lanes need not. */
HU_INLINE tally tally_of(const counters *t, size_t count) {
    (void)count;
    uint32_t zero_in[8], top[8], under[8];
    tally all = {.beyond = (uint32_t)t->beyond,
                 .nan = (uint32_t)t->nan,
                 .below = (uint32_t)t->below,
                 .zero_before = (uint32_t)t->zero_before,
                 .under = UINT32_MAX};
    _mm256_storeu_si256((__m256i *)(void *)zero_in, t->zero_in);
    _mm256_storeu_si256((__m256i *)(void *)top, t->top);
    _mm256_storeu_si256((__m256i *)(void *)under, t->under);
    for (int k = 0; k < 8; k++) {
        all.zero_in += zero_in[k];
        all.top = top[k] > all.top ? top[k] : all.top;
        all.under = at_most(all.under, under[k]);
    }
    all.under--;
    return all;
}

#define HU_ENCODE_NAME hu_encode_avx2
#include "kernel/encode/parts.inc"
