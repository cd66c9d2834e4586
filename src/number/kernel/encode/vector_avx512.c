/* Rounding by addition, counting and packing to 8 or 16 bits, with AVX-512 intrinsics. The sum |x|
 * + C of route MAGIC has the number of quanta in its last bits: the code is that number, and the
 * binades that k lies above emin in front of it. What is half of binary32, as bfloat16 is, takes
 * its upper half (route ALIGNED). Same bits as rounder and packer. */
#include <immintrin.h>

#include "kernel/encode/vector.h"

enum {
    VECTORS = 4,
    GROUP = 16 * VECTORS,
    OR_AND = 0xf8 /* ternary logic: a | (b & c) */
};

/* The constants of rounder and packer, spread over lanes. */
typedef struct constants {
    __m512i emin, lift, max, min_normal, infinity, overflow, overflow_code, nan_code, nan_sign;
    __m512i code_base;           /* of words: emin's exponent at the place of a code's */
    __m512i exponent, magnitude; /* of codes: their exponents' bits, all but the sign */
    __m512 threshold;
    __m128i drop;
} constants;

/* What was counted: by bits of masks, and in lanes. plain: numbers of groups that are normal, which
 * the others leave out. */
typedef struct counters {
    uint64_t plain, beyond, nan, normal, nonzero_before, nonzero_in;
    __m512i top, under; /* under: not less 1, as in tally */
} counters;

HU_INLINE __m512i spread(uint32_t word) {
    return _mm512_set1_epi32((int)word);
}

/* Codes that replace others have the base of code_base, which is taken off later. */
HU_INLINE constants constants_of(const hu_rounder *r, const hu_packer *p) {
    int is_aligned = r->route == HU_ROUTE_ALIGNED;
    uint32_t base = is_aligned ? 0 : r->emin_bits >> r->drop, sign = 1u << (p->code_bits - 1);
    return (constants){.emin = spread(r->emin_bits),
                       .lift = spread(r->drop << 23),
                       .max = spread(r->max_bits),
                       .min_normal = spread(r->min_normal_bits),
                       .infinity = spread(HU_F32_INFINITY),
                       .overflow = spread(r->overflow_value[0] & ~HU_F32_SIGN),
                       .overflow_code = spread(overflow_code(r, p) + base),
                       .nan_code = spread(p->nan_code + base),
                       .nan_sign = spread(p->nan_sign),
                       .code_base = _mm512_set1_epi16((short)base),
                       .exponent = spread(repeated(p, sign - p->hidden)),
                       .magnitude = spread(repeated(p, sign - 1)),
                       .threshold = _mm512_set1_ps(r->threshold),
                       .drop = _mm_cvtsi32_si128((int)r->drop)};
}

/* Bits of four masks as one, in no order. */
HU_INLINE uint64_t join(const __mmask16 *m) {
    return _cvtmask64_u64(
        _mm512_kunpackd(_mm512_kunpackw(m[0], m[1]), _mm512_kunpackw(m[2], m[3])));
}

HU_INLINE uint64_t ones(uint64_t bits) {
    return (uint64_t)__builtin_popcountll(bits);
}

/* Lower halves of the lanes of two vectors, as _mm512_packs_epi32 would order them. */
HU_INLINE __m512i lower_halves(__m512i a, __m512i b) {
    const __m512i order = _mm512_setr_epi64(
        0x0006000400020000, 0x0026002400220020, 0x000e000c000a0008, 0x002e002c002a0028,
        0x0016001400120010, 0x0036003400320030, 0x001e001c001a0018, 0x003e003c003a0038);
    return _mm512_permutex2var_epi16(a, order, b);
}

/* Codes of two vectors, whose lanes end in code plus code_base. */
HU_INLINE __m512i narrow_codes(const constants *c, const __m512i *v) {
    return _mm512_sub_epi16(lower_halves(v[0], v[1]), c->code_base);
}

/* One vector of a group whose numbers are all within the largest finite one, rounded. */
HU_INLINE __m512i round_lanes(const constants *c, code_kind kind, __m512i u, __m512i *code) {
    if (kind == HALF_OF_32) {
        __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), spread(1));
        __m512i sum = _mm512_add_epi32(_mm512_add_epi32(u, spread(0x7fff)), odd);
        *code = _mm512_srli_epi32(sum, 16);
        return _mm512_slli_epi32(*code, 16);
    }
    __m512i k = _mm512_max_epu32(_mm512_and_si512(u, c->infinity), c->emin);
    __m512i lift = _mm512_add_epi32(k, c->lift);
    __m512 sum = _mm512_add_ps(_mm512_castsi512_ps(u), _mm512_castsi512_ps(lift));
    *code = _mm512_add_epi32(_mm512_castps_si512(sum), _mm512_srl_epi32(k, c->drop));
    return _mm512_castps_si512(_mm512_sub_ps(sum, _mm512_castsi512_ps(lift)));
}

/* Overflows and NaNs of one vector: their results, codes and counts. */
HU_INLINE void replace(const constants *c, __m512i u, __m512i *x, __m512i *v, __m512i *code,
                       counters *t) {
    __mmask16 over = _mm512_cmp_ps_mask(_mm512_castsi512_ps(u), c->threshold, _CMP_GE_OQ);
    __mmask16 nan = _mm512_cmpgt_epi32_mask(u, c->infinity);
    *v = _mm512_mask_mov_epi32(*v, over, c->overflow);
    *v = _mm512_mask_or_epi32(*v, nan, u, spread(HU_F32_QUIET));
    *code = _mm512_mask_mov_epi32(*code, over, c->overflow_code);
    *code = _mm512_mask_mov_epi32(*code, nan, c->nan_code);
    *x = _mm512_mask_and_epi32(*x, nan, *x, c->nan_sign);
    t->beyond += ones(_cvtmask16_u32(over));
    t->nan += ones(_cvtmask16_u32(nan));
}

/* Codes of 8 bits of a group with their signs. Narrowing x saturates, which sign bits survive; it
 * leaves the dwords 0 4 8 12, 1 5 9 13, ... */
HU_INLINE void put_8(const constants *c, const __m512i *x, const __m512i *code, void *to,
                     __m512i *codes) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i all = _mm512_packus_epi16(narrow_codes(c, code), narrow_codes(c, code + 2));
    __m512i sign =
        _mm512_packs_epi16(_mm512_packs_epi32(x[0], x[1]), _mm512_packs_epi32(x[2], x[3]));
    codes[0] = _mm512_ternarylogic_epi32(all, sign, _mm512_set1_epi8((char)0x80), OR_AND);
    _mm512_storeu_si512(to, _mm512_permutexvar_epi32(order, codes[0]));
}

/* The same of 16 bits, in two vectors; narrowing leaves the quadwords 0 2 4 6, 1 3 5 7. */
HU_INLINE void put_16(const constants *c, const __m512i *x, const __m512i *code, void *to,
                      __m512i *codes) {
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    HU_UNROLL
    for (int k = 0; k < 2; k++) {
        __m512i sign = _mm512_packs_epi32(x[2 * k], x[2 * k + 1]);
        codes[k] = _mm512_ternarylogic_epi32(narrow_codes(c, code + (ptrdiff_t)2 * k), sign,
                                             _mm512_set1_epi16(INT16_MIN), OR_AND);
        _mm512_storeu_si512((uint16_t *)to + 32 * k, _mm512_permutexvar_epi64(order, codes[k]));
    }
}

/* Counts of what came in, magnitudes u. */
HU_INLINE void count_inputs(const __m512i *u, counters *t) {
    __mmask16 in[VECTORS];
    HU_UNROLL
    for (int k = 0; k < VECTORS; k++) {
        in[k] = _mm512_test_epi32_mask(u[k], u[k]);
        t->under = _mm512_mask_min_epu32(t->under, in[k], t->under, u[k]);
    }
    t->nonzero_in += ones(join(in));
}

/* Counts of rounded numbers, magnitudes v. */
HU_INLINE void count_numbers(const constants *c, const __m512i *v, counters *t) {
    __mmask16 before[VECTORS], normal[VECTORS];
    HU_UNROLL
    for (int k = 0; k < VECTORS; k++) {
        before[k] = _mm512_test_epi32_mask(v[k], v[k]);
        normal[k] = _mm512_cmpge_epi32_mask(v[k], c->min_normal);
    }
    t->nonzero_before += ones(join(before));
    t->normal += ones(join(normal));
}

/* Codes of a group with one of these bits. */
HU_INLINE uint64_t with_bits(code_kind kind, const __m512i *codes, __m512i wanted) {
    if (kind == BITS_8) return ones(_cvtmask64_u64(_mm512_test_epi8_mask(codes[0], wanted)));
    return ones(_cvtmask64_u64(_mm512_kunpackd(_mm512_test_epi16_mask(codes[0], wanted),
                                               _mm512_test_epi16_mask(codes[1], wanted))));
}

/* The same by their codes: normal are those with a bit of the exponent. */
HU_INLINE void count_codes(const constants *c, code_kind kind, const __m512i *codes, counters *t) {
    t->nonzero_before += with_bits(kind, codes, c->magnitude);
    t->normal += with_bits(kind, codes, c->exponent);
}

/* One group x with the magnitudes u. is_calm: all of them are within the largest finite number; the
 * codes of others do not tell what they are. is_normal: none is below the smallest normal number,
 * so that none becomes one that is. */
HU_INLINE void encode_group(const constants *c, code_kind kind, __m512i *x, const __m512i *u,
                            float *y, void *codes, counters *t, bool is_in_range, bool is_normal) {
    __m512i v[VECTORS], code[VECTORS], packed[2];
    if (!is_normal) count_inputs(u, t);
    HU_UNROLL
    for (int k = 0; k < VECTORS; k++) {
        __m512i signed_x = x[k];
        v[k] = round_lanes(c, kind, u[k], &code[k]);
        if (!is_in_range) replace(c, u[k], &x[k], &v[k], &code[k], t);
        __m512i out = _mm512_ternarylogic_epi32(v[k], signed_x, spread(HU_F32_SIGN), OR_AND);
        if (y) _mm512_storeu_si512(y + (ptrdiff_t)16 * k, out);
    }
    if (kind == BITS_8)
        put_8(c, x, code, codes, packed);
    else
        put_16(c, x, code, codes, packed);
    if (!is_in_range)
        count_numbers(c, v, t);
    else if (!is_normal)
        count_codes(c, kind, packed, t);
}

/* Largest finite magnitude of a group that has others. */
HU_INLINE __m512i finite_top(const constants *c, const __m512i *u, __m512i top) {
    HU_UNROLL
    for (int k = 0; k < VECTORS; k++) {
        __mmask16 finite = _mm512_cmplt_epi32_mask(u[k], c->infinity);
        top = _mm512_mask_max_epu32(top, finite, top, u[k]);
    }
    return top;
}

/* A block of groups. kind, looks_low (whether normal ones are looked for), and y, NULL where it is
 * not wanted, are constants of each loop. */
HU_INLINE void encode_block(const constants *c, code_kind kind, bool looks_low, size_t n,
                            const float *x, float *y, uint8_t *codes, counters *t) {
    const size_t bytes = kind == BITS_8 ? 1 : 2;
    for (size_t i = 0; i < n; i += GROUP) {
        __m512i in[VECTORS], u[VECTORS];
        HU_UNROLL
        for (int k = 0; k < VECTORS; k++) {
            in[k] = _mm512_loadu_si512(x + i + (ptrdiff_t)16 * k);
            u[k] = _mm512_and_si512(in[k], spread(~HU_F32_SIGN));
        }
        __m512i top = _mm512_max_epu32(_mm512_max_epu32(u[0], u[1]), _mm512_max_epu32(u[2], u[3]));
        __m512i low = _mm512_min_epu32(_mm512_min_epu32(u[0], u[1]), _mm512_min_epu32(u[2], u[3]));
        float *to = y ? y + i : NULL;
        if (__builtin_expect(_mm512_cmpgt_epi32_mask(top, c->max) != 0, 0)) {
            t->top = finite_top(c, u, t->top);
            encode_group(c, kind, in, u, to, codes + i * bytes, t, false, false);
            continue;
        }
        t->top = _mm512_max_epu32(t->top, top);
        if (!looks_low || _mm512_cmplt_epi32_mask(low, c->min_normal) != 0) {
            encode_group(c, kind, in, u, to, codes + i * bytes, t, true, false);
            continue;
        }
        t->under = _mm512_min_epu32(t->under, low);
        t->plain += GROUP;
        encode_group(c, kind, in, u, to, codes + i * bytes, t, true, true);
    }
}

HU_INLINE tally tally_of(const counters *t, size_t count) {
    return (tally){.beyond = (uint32_t)t->beyond,
                   .nan = (uint32_t)t->nan,
                   .below = (uint32_t)(count - t->plain - t->normal),
                   .zero_before = (uint32_t)(count - t->plain - t->nonzero_before),
                   .zero_in = (uint32_t)(count - t->plain - t->nonzero_in),
                   .top = _mm512_reduce_max_epu32(t->top),
                   .under = _mm512_reduce_min_epu32(t->under) - 1};
}

#define HU_ENCODE_NAME hu_encode_avx512
#include "kernel/encode/parts.inc"
