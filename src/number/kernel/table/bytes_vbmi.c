/* kernel/table/bytes_vbmi.c - rounding, counting and packing by tables of bytes in registers, 64
 * numbers at a time. What is not finite and what is subnormal in float32 goes one by one. */
#include <string.h>

#include "kernel/encode/encode.h"
#include "kernel/round/tally.h"
#include "kernel/table/lookup.h"
#include "kernel/table/slots_vbmi.h"

/* What is wanted, constant at every call. */
typedef struct use {
    bool counts, codes, numbers;
    bool is_cut; /* what follows the first 7 bits of the fraction does not matter */
} use;

/* What overflows and infinities become, complete bits and codes, of + and -; what is above nan_from
 * counts as NaN. */
typedef struct outcome {
    uint32_t overflow[2], infinite[2], nan_from, min_normal;
    uint8_t overflow_code[2], infinite_code[2], nan_code;
    bool is_other[2]; /* the overflow's code is not of its bits, or these count as others */
} outcome;

/* What was counted, in lanes of bytes: numbers that are not 0, before and after, and normal ones;
 * extremes of exponent fields, plus and less 1, where what is neither finite nor normal in float32
 * is no extreme. */
typedef struct counters {
    __m512i some, nonzero, normal, top, low;
} counters;

/* Sums of these, and what is counted one by one; extremes of numbers that are subnormal in float32.
 */
typedef struct sums {
    uint64_t some, nonzero, normal;
    uint32_t beyond, nan, top_small, under_small;
} sums;

/* What is looked up, for registers. */
typedef struct tables {
    places at;
    patterns all;
} tables;

/* What settles the rest. */
typedef struct job {
    outcome result;
    constants steps;
    const hu_code_steps *whole;
    bool is_scaled;
} job;

HU_INLINE uint64_t ones(__mmask64 mask) {
    return (uint64_t)__builtin_popcountll(_cvtmask64_u64(mask));
}

/* ---- numbers one by one, and what overflowed ---- */

/* Lanes of a group: that go one by one; that overflow; negative ones; what was counted of them. */
typedef struct found {
    __mmask64 rare, over, sign, nonzero, normal;
} found;

/* A number that is not finite, or subnormal in float32: bits, code, counts. */
HU_INLINE void settle_one(const job *j, uint32_t bits, uint32_t *out, uint8_t *code, sums *t) {
    const outcome *o = &j->result;
    uint32_t u = bits & ~HU_F32_SIGN, list = bits >> 31;
    bool is_lost = u > o->nan_from, is_over = u == HU_F32_INFINITY;
    *out = bits | HU_F32_QUIET, *code = o->nan_code;
    if (is_over) *out = o->infinite[list], *code = o->infinite_code[list];
    if (u < HU_F32_INFINITY) {
        uint32_t moved = unscaled(&j->steps, j->is_scaled, u);
        uint32_t slot = hu_code_slot(j->whole, (bits & HU_F32_SIGN) | moved);
        is_over = slot == j->whole->last[list];
        *out =
            is_over ? o->overflow[list] : rescaled(&j->steps, j->is_scaled, j->whole->number[slot]);
        *code = is_over ? o->overflow_code[list] : (uint8_t)j->whole->code[slot];
        t->top_small = t->top_small > u ? t->top_small : u;
        t->under_small = at_most(t->under_small, u - 1);
    }
    t->beyond += is_over && !is_lost;
    t->nan += is_lost;
    t->nonzero += (*out & ~HU_F32_SIGN) != 0;
    t->normal += (*out & ~HU_F32_SIGN) >= o->min_normal;
}

/* The same of a list's overflows whose counts or numbers are other than those of their slots. */
HU_INLINE void settle_list(const outcome *o, const found *f, __mmask64 lanes, int list, float *y,
                           sums *t) {
    uint32_t out = o->overflow[list], u = out & ~HU_F32_SIGN;
    t->nonzero += (u != 0 ? ones(lanes) : 0) - ones(lanes & f->nonzero);
    t->normal += (u >= o->min_normal ? ones(lanes) : 0) - ones(lanes & f->normal);
    for (int k = 0; y && k < VECTORS; k++)
        _mm512_mask_storeu_epi32(y + (ptrdiff_t)LANES * k, (__mmask16)(lanes >> (LANES * k)),
                                 _mm512_set1_epi32((int)out));
}

/* Overflows among the lanes that are not rare. */
HU_INLINE void settle_over(const job *j, const found *f, float *y, sums *t) {
    const outcome *o = &j->result;
    __mmask64 lanes = f->over & ~f->rare;
    t->beyond += (uint32_t)ones(lanes);
    if (o->is_other[0]) settle_list(o, f, lanes & ~f->sign, 0, y, t);
    if (o->is_other[1]) settle_list(o, f, lanes & f->sign, 1, y, t);
}

/* A group in which some numbers are rare, after its codes and numbers were written; y, codes: NULL
 * where they are not wanted. */
static __attribute__((noinline)) void settle(const job *j, const found *f, const float x[GROUP],
                                             float *y, uint8_t *codes, sums *t) {
    uint32_t out;
    uint8_t code;
    t->nonzero -= ones(f->rare & f->nonzero);
    t->normal -= ones(f->rare & f->normal);
    for (uint64_t left = f->rare; left; left &= left - 1) {
        int i = __builtin_ctzll(left);
        settle_one(j, hu_f32_bits(x[i]), &out, &code, t);
        if (y) y[i] = hu_f32_of_bits(out);
        if (codes) codes[i] = code;
    }
}

/* ---- groups ---- */

/* Adds 1 where v is not 0. */
HU_INLINE __m512i add_some(const places *c, __m512i sum, __m512i v) {
    return _mm512_add_epi8(sum, _mm512_min_epu8(v, c->use.one));
}

HU_INLINE void count(const places *c, const pieces *p, __m512i slot, shape s, counters *t) {
    const __m512i one = c->use.one;
    t->some = add_some(c, t->some, p->any);
    t->nonzero = add_some(c, t->nonzero, slot);
    if (c->has_subnormal)
        t->normal = add_some(c, t->normal, _mm512_subs_epu8(slot, by_sign(c->subnormal, p, s)));
    t->top = _mm512_max_epu8(t->top, _mm512_add_epi8(p->field, one));
    t->low = _mm512_min_epu8(t->low, _mm512_sub_epi8(p->field, one));
}

/* Whether lanes are rare or overflow; these. */
HU_INLINE bool finds(const places *c, const pieces *p, __m512i slot, __mmask64 unclear, shape s,
                     found *f) {
    const __m512i one = c->use.one, most = c->use.most_field; /* 255 and 0, less 1, lie above */
    __m512i last = by_sign(c->last, p, s), over = _mm512_subs_epu8(slot, last);
    __m512i outer = _mm512_subs_epu8(_mm512_sub_epi8(p->field, one), most);
    __m512i rare = _mm512_min_epu8(outer, p->any), both = _mm512_or_si512(over, rare);
    __mmask64 all = _mm512_test_epi8_mask(both, both);
    if (__builtin_expect((s.is_deep ? all | unclear : all) == 0, 1)) return false;
    *f = (found){.rare = _mm512_test_epi8_mask(rare, rare) | unclear,
                 .over = _mm512_test_epi8_mask(over, over),
                 .sign = p->sign,
                 .nonzero = _mm512_test_epi8_mask(slot, slot)};
    f->normal = f->nonzero;
    if (!c->has_subnormal) return true;
    __m512i normal = _mm512_subs_epu8(slot, by_sign(c->subnormal, p, s));
    f->normal = _mm512_test_epi8_mask(normal, normal);
    return true;
}

HU_INLINE void put_numbers(const tables *c, __m512i code, float *y) {
    __m512i out[VECTORS];
    if (c->all.is_scaled)
        numbers_of(&c->all, code, true, true, out);
    else if (c->all.has_low)
        numbers_of(&c->all, code, true, false, out);
    else
        numbers_of(&c->all, code, false, false, out);
    HU_UNROLL
    for (int k = 0; k < VECTORS; k++) _mm512_storeu_si512(y + (ptrdiff_t)LANES * k, out[k]);
}

/* The numbers of p. Those at x are read where something is found, before y, which may be x. */
HU_INLINE void do_group(const tables *c, const job *j, const pieces *p, const float *x, float *y,
                        uint8_t *codes, shape s, use w, counters *t, sums *e) {
    __mmask64 unclear = 0;
    __m512i slot = slots_of(&c->at, p, s, &unclear), code = codes_of(&c->at, p, slot, s);
    float kept[GROUP];
    found f;
    bool has_found = finds(&c->at, p, slot, unclear, s, &f);
    if (w.counts) count(&c->at, p, slot, s, t);
    if (w.codes) _mm512_storeu_si512(codes, code);
    if (__builtin_expect(has_found, 0) && f.rare) memcpy(kept, x, sizeof kept);
    if (w.numbers) put_numbers(c, code, y);
    if (__builtin_expect(!has_found, 1)) return;
    settle_over(j, &f, w.numbers ? y : NULL, e);
    if (f.rare) settle(j, &f, kept, w.numbers ? y : NULL, w.codes ? codes : NULL, e);
}

/* ---- preparation ---- */

/* Lookup of exponent fields with a scale; field 0 is of zero alone. */
HU_INLINE lookup load_fields(const uint8_t *bytes, int32_t bias, uint8_t zero) {
    lookup t = load_lookup(bytes + HU_BYTE_FIELD + bias);
    t.part[0] = _mm512_mask_mov_epi8(t.part[0], 1, spread(zero));
    return t;
}

HU_INLINE void put_byte(lookup *t, uint32_t at, uint8_t byte) {
    HU_UNROLL
    for (uint32_t i = 0; i < HU_BYTE_WORDS / GROUP; i++) {
        __mmask64 where = at / GROUP == i ? (__mmask64)1 << at % GROUP : 0;
        t->part[i] = _mm512_mask_mov_epi8(t->part[i], where, _mm512_set1_epi8((char)byte));
    }
}

HU_INLINE void load_places(const hu_code_bytes *b, int32_t bias, const outcome *o, places *to) {
    HU_UNROLL
    for (int list = 0; list < 2; list++) {
        int from = b->is_even ? 0 : list;
        to->code[list] = load_lookup(b->code[list]);
        put_byte(&to->code[list], b->last[list], o->overflow_code[list]);
        to->place[list] = load_fields(b->place[from], bias, b->zero_place[from]);
        to->last[list] = spread(b->last[list] - 1u);
        to->subnormal[list] = spread(b->normal[list] - 1u);
    }
    to->has_subnormal = b->has_subnormal;
    to->use = bytes_for_use();
    to->mask = load_lookup(b->mask);
    to->slot = load_lookup(b->slot);
    HU_UNROLL
    for (int i = 0; i < HU_BYTE_THRESHOLDS; i++) {
        HU_UNROLL
        for (int k = 0; k < HU_BYTE_DEPTH; k++) to->above[i][k] = load_lookup(b->above[i][k]);
    }
}

/* The loops that serve: narrow ones have no byte of their own for overflow in slot 128, which goes
 * as the last number does. */
HU_INLINE shape shape_of(const hu_code_bytes *b, const outcome *o) {
    shape s = {b->is_even, b->is_narrow, b->is_deep};
    for (int list = 0; list < 2; list++)
        if (b->last[list] == HU_BYTE_NARROW &&
            o->overflow_code[list] != b->code[list][HU_BYTE_NARROW - 1])
            s.is_narrow = false;
    return s;
}

/* Code of a result as the packer gives it; most are the last numbers of their lists. */
static uint8_t code_of(const hu_packer *p, const constants *c, uint32_t bits) {
    uint32_t u = bits & ~HU_F32_SIGN, list = bits >> 31, last = p->steps->last[list];
    if (bits == rescaled(c, p->format.bias != 0, p->steps->number[last]))
        return (uint8_t)p->steps->code[last];
    if (u > HU_F32_INFINITY) return (uint8_t)p->nan_code;
    if (u == HU_F32_INFINITY) return (uint8_t)(list ? p->minus_infinity_code : p->infinity_code);
    uint32_t moved = unscaled(c, p->format.bias != 0, u);
    return (uint8_t)p->steps->code[hu_code_slot(p->steps, (bits & HU_F32_SIGN) | moved)];
}

static uint32_t bits_of(const hu_code_steps *s, const constants *c, bool is_scaled, uint8_t code) {
    uint32_t bits = 0;
    for (uint32_t b = 4; b-- > 0;) bits = bits << 8 | s->byte[HU_BYTE_WORDS * b + code];
    return (bits & ~HU_F32_SIGN) < HU_F32_INFINITY ? rescaled(c, is_scaled, bits) : bits;
}

/* packer: NULL where codes are not wanted: any that lead to the numbers. */
static outcome outcome_of(const hu_rounder *r, const hu_packer *packer, const constants *c) {
    outcome o = {.nan_from = r->nan_from, .min_normal = r->min_normal_bits};
    const hu_code_steps *s = r->steps;
    for (int list = 0; list < 2; list++) {
        o.overflow[list] = r->overflow_value[list];
        o.infinite[list] = r->infinite_value[list];
        o.overflow_code[list] = (uint8_t)s->code[s->last[list]];
        if (packer) o.overflow_code[list] = code_of(packer, c, o.overflow[list]);
        if (packer) o.infinite_code[list] = code_of(packer, c, o.infinite[list]);
        uint32_t u = o.overflow[list] & ~HU_F32_SIGN;
        o.is_other[list] =
            u == 0 || u < o.min_normal ||
            bits_of(s, c, r->format.bias != 0, o.overflow_code[list]) != o.overflow[list];
    }
    if (packer) o.nan_code = (uint8_t)packer->nan_code;
    return o;
}

HU_INLINE job job_of(const hu_rounder *r, const hu_packer *packer) {
    const constants steps = constants_of(r->steps, &r->format);
    return (job){.whole = r->steps,
                 .steps = steps,
                 .result = outcome_of(r, packer, &steps),
                 .is_scaled = r->format.bias != 0};
}

HU_INLINE tables tables_of(const hu_rounder *r, const hu_code_bytes *bytes, const outcome *o) {
    tables t;
    load_places(bytes, r->format.bias, o, &t.at);
    t.all = load_patterns(r->steps, r->format.bias);
    return t;
}

HU_INLINE uint64_t sum_of(__m512i bytes) {
    return (uint64_t)_mm512_reduce_add_epi64(_mm512_sad_epu8(bytes, _mm512_setzero_si512()));
}

/* Takes over what lanes of bytes hold. */
HU_INLINE void add_counters(const places *c, counters *t, sums *e) {
    const __m512i zero = _mm512_setzero_si512();
    uint64_t nonzero = sum_of(t->nonzero);
    e->some += sum_of(t->some);
    e->nonzero += nonzero;
    e->normal += c->has_subnormal ? sum_of(t->normal) : nonzero;
    t->some = t->nonzero = t->normal = zero;
}

/* The largest of 64 bytes. */
HU_INLINE uint32_t largest(__m512i bytes) {
    __m256i half =
        _mm256_max_epu8(_mm512_castsi512_si256(bytes), _mm512_extracti64x4_epi64(bytes, 1));
    __m128i v = _mm_max_epu8(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    v = _mm_max_epu8(v, _mm_srli_si128(v, 8));
    v = _mm_max_epu8(v, _mm_srli_si128(v, 4));
    v = _mm_max_epu8(v, _mm_srli_si128(v, 2));
    v = _mm_max_epu8(v, _mm_srli_si128(v, 1));
    return (uint32_t)_mm_cvtsi128_si32(v) & UINT8_MAX;
}

HU_INLINE tally tally_of(__m512i tops, __m512i lows, const sums *e, size_t n) {
    uint32_t most = largest(tops);
    uint32_t least = UINT8_MAX - largest(_mm512_xor_si512(lows, spread(UINT8_MAX)));
    uint32_t zero = (uint32_t)(n - e->nonzero);
    uint32_t under = least < UINT8_MAX ? ((least + 1) << 23) - 1 : NO_INPUT;
    return (tally){.beyond = e->beyond,
                   .nan = e->nan,
                   .below = (uint32_t)(n - e->normal),
                   .zero_before = zero,
                   .zero_in = at_most((uint32_t)(n - e->some), zero),
                   .top = most > 1 ? (most - 1) << 23 : e->top_small,
                   .under = at_most(under, e->under_small)};
}

/* ---- arrays ---- */

/* n a multiple of GROUP. Parts that 32-bit counters hold, of blocks that bytes hold. */
HU_INLINE void do_all(const hu_rounder *r, const hu_code_bytes *bytes, const job *j, size_t n,
                      const float *x, float *y, uint8_t *codes, shape s, use w,
                      hu_round_counts *counts) {
    enum { BLOCK = 128 * GROUP, PART = 128 * BLOCK };
    const tables c = tables_of(r, bytes, &j->result);
    pieces p = split(&c.at, x, s, w.is_cut);
    for (size_t at = 0; at < n; at += PART) {
        size_t end = n - at < PART ? n : at + PART;
        counters t = {.low = spread(UINT8_MAX)};
        sums e = {.under_small = NO_INPUT};
        for (size_t i = at; i < end;) {
            size_t stop = end - i < BLOCK ? end : i + BLOCK;
            for (; i < stop; i += GROUP) {
                /* Those of the next group beside this one's: the chains of both are long. */
                const pieces next = split(&c.at, x + (i + GROUP < n ? i + GROUP : i), s, w.is_cut);
                do_group(&c, j, &p, x + i, w.numbers ? y + i : NULL, w.codes ? codes + i : NULL, s,
                         w, &t, &e);
                p = next;
            }
            if (w.counts) add_counters(&c.at, &t, &e);
        }
        if (!w.counts || !counts) continue;
        const tally all = tally_of(t.top, t.low, &e, end - at);
        add_tally(false, end - at, &all, 0, counts);
    }
}

HU_INLINE void do_kind(const hu_rounder *r, const hu_code_bytes *bytes, const hu_packer *packer,
                       size_t n, const float *x, float *y, uint8_t *codes, use w,
                       hu_round_counts *counts) {
    const job j = job_of(r, packer);
    const shape s = shape_of(bytes, &j.result);
#define DO(even, narrow, deep)                                                                     \
    do_all(r, bytes, &j, n, x, y, codes, (shape){even, narrow, deep}, w, counts)
    if (!s.is_deep && s.is_even && s.is_narrow)
        DO(true, true, false);
    else if (!s.is_deep)
        DO(false, false, false);
    else if (s.is_even && s.is_narrow)
        DO(true, true, true);
    else if (s.is_even)
        DO(true, false, true);
    else if (s.is_narrow)
        DO(false, true, true);
    else
        DO(false, false, true);
#undef DO
}

hu_round_fn hu_round_bytes_vbmi, hu_round_table_avx512;
hu_encode_fn hu_encode_bytes_vbmi, hu_encode_members_vbmi;
void hu_round_bytes_vbmi(const hu_rounder *r, size_t n, const float *x, float *y,
                         const hu_random_key *key, uint64_t first, hu_round_counts *counts) {
    enum { SHORT = 256 };
    size_t whole = n < SHORT ? 0 : n / GROUP * GROUP;
    if (whole)
        do_kind(r, r->steps->bytes, NULL, whole, x, y, NULL, (use){true, false, true, false},
                counts);
    hu_round_table_avx512(r, n - whole, x + whole, y + whole, key, first + whole, counts);
}

void hu_encode_bytes_vbmi(const hu_rounder *r, const hu_packer *p, size_t n, const float *x,
                          float *y, void *codes, hu_round_counts *counts) {
    if (y)
        do_kind(r, r->steps->bytes, p, n, x, y, codes, (use){true, true, true, false}, counts);
    else
        do_kind(r, r->steps->bytes, p, n, x, NULL, codes, (use){true, true, false, false}, counts);
}

/* The packer's numbers as those of a rounder that changes none. */
static hu_rounder rounder_of(const hu_packer *p) {
    const constants c = constants_of(p->steps, &p->format);
    const hu_code_steps *s = p->steps;
    bool is_scaled = p->format.bias != 0;
    return (hu_rounder){.format = p->format,
                        .steps = p->steps,
                        .overflow_value = {rescaled(&c, is_scaled, s->number[s->last[0]]),
                                           rescaled(&c, is_scaled, s->number[s->last[1]])},
                        .infinite_value = {HU_F32_INFINITY, HU_F32_INFINITY | HU_F32_SIGN},
                        .nan_from = HU_F32_INFINITY};
}

/* Infinities are numbers here, and no overflow. */
void hu_encode_members_vbmi(const hu_rounder *r, const hu_packer *p, size_t n, const float *x,
                            float *y, void *codes, hu_round_counts *counts) {
    hu_rounder members = rounder_of(p);
    members.min_normal_bits = r->min_normal_bits;
    hu_encode_bytes_vbmi(&members, p, n, x, y, codes, counts);
}

hu_pack_fn hu_pack_bytes_vbmi, hu_pack_table_8_avx512;
void hu_pack_bytes_vbmi(const hu_packer *p, size_t n, const float *x, void *codes,
                        uint64_t unencodable[2]) {
    enum { SHORT = 256 };
    size_t whole = n < SHORT || unencodable ? 0 : n / GROUP * GROUP;
    if (whole) {
        const hu_rounder r = rounder_of(p);
        const hu_code_bytes *bytes = p->steps->members;
        if (bytes->has_small)
            do_kind(&r, bytes, p, whole, x, NULL, codes, (use){false, true, false, false}, NULL);
        else
            do_kind(&r, bytes, p, whole, x, NULL, codes, (use){false, true, false, true}, NULL);
    }
    hu_pack_table_8_avx512(p, n - whole, x + whole, (uint8_t *)codes + whole, unencodable);
}

/* ---- neighbours ---- */

/* Those of a group; rare lanes one by one. */
HU_INLINE void find_neighbours(const tables *c, const job *j, const float *x, float *from,
                               float *to, shape s) {
    __mmask64 unclear = 0;
    found f = {0};
    const pieces p = split(&c->at, x, s, false);
    __m512i slot = slots_of(&c->at, &p, s, &unclear);
    put_numbers(c, codes_of(&c->at, &p, slot, s), from);
    put_numbers(c, codes_of(&c->at, &p, _mm512_adds_epu8(slot, c->at.use.one), s), to);
    if (__builtin_expect(!finds(&c->at, &p, slot, unclear, s, &f), 1)) return;
    for (uint64_t left = f.rare; left; left &= left - 1) {
        int i = __builtin_ctzll(left);
        uint32_t bits = hu_f32_bits(x[i]), sign = bits & HU_F32_SIGN;
        uint32_t at = hu_code_slot(j->whole, sign | unscaled(&j->steps, j->is_scaled, bits ^ sign));
        from[i] = hu_f32_of_bits(rescaled(&j->steps, j->is_scaled, j->whole->number[at]));
        to[i] = hu_f32_of_bits(rescaled(&j->steps, j->is_scaled, j->whole->number[at + 1]));
    }
}

HU_INLINE void find_all(const hu_rounder *r, const job *j, size_t n, const float *x, float *from,
                        float *to, shape s) {
    const tables c = tables_of(r, r->steps->bytes, &j->result);
    for (size_t i = 0; i < n; i += GROUP) find_neighbours(&c, j, x + i, from + i, to + i, s);
}

/* The last number's next is itself: nothing moves there. */
hu_neighbours_fn hu_neighbours_bytes_vbmi;
void hu_neighbours_bytes_vbmi(const hu_rounder *r, size_t n, const float *x, float *from,
                              float *to) {
    const job j = job_of(r, NULL);
    const shape s = shape_of(r->steps->bytes, &j.result);
    if (s.is_even && s.is_narrow && !s.is_deep)
        find_all(r, &j, n, x, from, to, (shape){true, true, false});
    else if (!s.is_deep)
        find_all(r, &j, n, x, from, to, (shape){false, false, false});
    else
        find_all(r, &j, n, x, from, to, (shape){false, false, true});
}
