/* Formats by table against MPFR: values of all codes by the definitions of their papers, boundaries
 * as the definitions have them, and rounding in every mode by exact comparisons of numbers of 600
 * bits, on all boundaries, numbers and their neighbours and on random inputs.
 *   format_table [--short]      short: fewer codes of 16-bit formats, fewer random inputs
 * Prints "N passed, M failed"; exit code 1 if M > 0. */
#include <halfulp/format.h>

#include <math.h>
#include <mpfr.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/rng.h"
#include "reference/table.h"

enum { PRECISION = 600, CODES = 65536 };

static uint64_t passed, failed;

/* ---- what the definitions say ---- */

typedef enum tie_rule { EVEN, AWAY, LOWER } tie_rule;

/* A number system: numbers of codes, boundaries, and what is beyond. */
typedef struct system {
    const char *name;
    int bits;
    int argument; /* es, is_log, fraction bits */
    /* Sets value to the number of a code of `bits` bits; false: it is none. */
    bool (*number)(const struct system *s, int bits, uint32_t code, mpfr_t value);
    enum { MEANS, ONE_BIT_MORE, HALF_LOGARITHMS, MEANS_IN_FLOAT32 } boundaries;
    tie_rule ties;
    bool nan_of_infinity;
} number_system;

static bool is_number(double value, mpfr_t to) {
    mpfr_set_d(to, value, MPFR_RNDN);
    return isfinite(value);
}

static bool posit_number(const number_system *s, int bits, uint32_t code, mpfr_t value) {
    return is_number(reference_posit_value(bits, s->argument, code), value);
}

static bool takum_number(const number_system *s, int bits, uint32_t code, mpfr_t value) {
    (void)s;
    return is_number(reference_takum_value(bits, 0, code), value);
}

/* e^(l/2) by MPFR; l is exact. */
static bool takumlog_number(const number_system *s, int bits, uint32_t code, mpfr_t value) {
    double linear = reference_takum_value(bits, 0, code), c, m;
    (void)s;
    if (code == 0 || !isfinite(linear)) return is_number(code == 0 ? 0 : NAN, value);
    /* Of the magnitude's linear twin, (1 + m) 2^c. */
    c = floor(log2(fabs(linear)));
    m = fabs(linear) / exp2(c) - 1;
    mpfr_set_d(value, (c + m) / 2, MPFR_RNDN);
    mpfr_exp(value, value, MPFR_RNDN);
    if (linear < 0) mpfr_neg(value, value, MPFR_RNDN);
    return true;
}

static bool hif8_number(const number_system *s, int bits, uint32_t code, mpfr_t value) {
    (void)s, (void)bits;
    return is_number(reference_hif8_value(code), value);
}

/* 2^((L - bias) / 2^f), L = code / half for the code of one bit more. */
static bool lns_number(const number_system *s, int bits, uint32_t code, mpfr_t value) {
    uint32_t sign = 1u << (bits - 1), magnitude = code & (sign - 1);
    if (code == sign) return is_number(NAN, value);
    if (magnitude == 0) return is_number(0, value);
    mpfr_set_d(value, ldexp(magnitude, s->bits - bits) - ldexp(1, s->bits - 2), MPFR_RNDN);
    mpfr_div_2si(value, value, s->argument, MPFR_RNDN);
    mpfr_exp2(value, value, MPFR_RNDN);
    if (code & sign) mpfr_neg(value, value, MPFR_RNDN);
    return true;
}

/* Dettmers et al.'s list, as decimals. */
static bool nf4_number(const number_system *s, int bits, uint32_t code, mpfr_t value) {
    static const char *const list[] = {"-1",
                                       "-0.6961928009986877",
                                       "-0.5250730514526367",
                                       "-0.39491748809814453",
                                       "-0.28444138169288635",
                                       "-0.18477343022823334",
                                       "-0.09105003625154495",
                                       "0",
                                       "0.07958029955625534",
                                       "0.16093020141124725",
                                       "0.24611230194568634",
                                       "0.33791524171829224",
                                       "0.44070982933044434",
                                       "0.5626170039176941",
                                       "0.7229568362236023",
                                       "1"};
    (void)s, (void)bits;
    mpfr_set_str(value, list[code], 10, MPFR_RNDN);
    mpfr_set_flt(value, mpfr_get_flt(value, MPFR_RNDN), MPFR_RNDN);
    return true;
}

static bool ternary_number(const number_system *s, int bits, uint32_t code, mpfr_t value) {
    static const double list[] = {0, 1, NAN, -1};
    (void)s, (void)bits;
    return is_number(list[code], value);
}

static const number_system systems[] = {
    {"posit6", 6, 2, posit_number, ONE_BIT_MORE, EVEN, true},
    {"posit8", 8, 2, posit_number, ONE_BIT_MORE, EVEN, true},
    {"posit3", 3, 2, posit_number, ONE_BIT_MORE, EVEN, true},
    {"posit8:es=0", 8, 0, posit_number, ONE_BIT_MORE, EVEN, true},
    {"posit11:es=1", 11, 1, posit_number, ONE_BIT_MORE, EVEN, true},
    {"posit16", 16, 2, posit_number, ONE_BIT_MORE, EVEN, true},
    {"posit16:es=4", 16, 4, posit_number, ONE_BIT_MORE, EVEN, true},
    {"takum3", 3, 0, takum_number, ONE_BIT_MORE, EVEN, true},
    {"takum8", 8, 0, takum_number, ONE_BIT_MORE, EVEN, true},
    {"takum12", 12, 0, takum_number, ONE_BIT_MORE, EVEN, true},
    {"takum16", 16, 0, takum_number, ONE_BIT_MORE, EVEN, true},
    {"takumlog8", 8, 1, takumlog_number, ONE_BIT_MORE, EVEN, true},
    {"takumlog16", 16, 1, takumlog_number, ONE_BIT_MORE, EVEN, true},
    {"hif8", 8, 0, hif8_number, MEANS, AWAY, false},
    {"lns8", 8, 3, lns_number, HALF_LOGARITHMS, EVEN, false},
    {"lns8:f=5", 8, 5, lns_number, HALF_LOGARITHMS, EVEN, false},
    {"lns16", 16, 11, lns_number, HALF_LOGARITHMS, EVEN, false},
    {"lns16:f=4", 16, 4, lns_number, HALF_LOGARITHMS, EVEN, false},
    {"lns13:f=0", 13, 0, lns_number, HALF_LOGARITHMS, EVEN, false},
    {"nf4", 4, 0, nf4_number, MEANS_IN_FLOAT32, LOWER, false},
    {"ternary", 2, 0, ternary_number, MEANS, EVEN, false},
};

/* ---- the oracle ---- */

/* Numbers in order that float32 has, their codes, and the boundary after each; of the last, where
 * overflow begins. */
typedef struct oracle {
    const number_system *system;
    hu_format format;
    int count;
    mpfr_t *number, *boundary, low_boundary, next[2];
    uint32_t *code;
    mpfr_t x, a, b, c;
} oracle;

/* Float32's normal numbers, and those below them that are exact. */
static bool has_float32(mpfr_t exact, mpfr_t rounded) {
    float near = mpfr_get_flt(exact, MPFR_RNDN);
    if (!isfinite(near)) return false;
    mpfr_set_flt(rounded, near, MPFR_RNDN);
    return fabsf(near) >= 0x1p-126f
               ? mpfr_cmp_d(exact, 0x1.fffffep127) <= 0 && mpfr_cmp_d(exact, -0x1.fffffep127) >= 0
               : mpfr_equal_p(exact, rounded) != 0;
}

/* Codes as signed numbers of their own order: rings in two's complement, others by sign and
 * magnitude, lists as they stand. Index i of the sorted codes. */
static uint32_t code_in_order(const number_system *s, uint32_t i) {
    uint32_t half = 1u << (s->bits - 1), mask = 2 * half - 1;
    if (s->boundaries == MEANS_IN_FLOAT32) return i;
    if (s->number == hif8_number || s->number == lns_number) {
        if (i < half) return i == half - 1 ? half : mask - i; /* -largest .. -least, -0 */
        return i - half;
    }
    return (i + half) & mask;
}

/* HiFloat8's codes ascend neither by sign and magnitude: sorted by number, few enough. */
static void sort(oracle *o) {
    if (o->system->number != hif8_number && o->system->number != ternary_number) return;
    for (int i = 1; i < o->count; i++)
        for (int k = i; k > 0 && mpfr_cmp(o->number[k], o->number[k - 1]) < 0; k--) {
            uint32_t code = o->code[k];
            mpfr_swap(o->number[k], o->number[k - 1]);
            o->code[k] = o->code[k - 1];
            o->code[k - 1] = code;
        }
}

/* The boundary above a code, of numbers with one bit more: the same code with a one behind it. */
static void one_bit_more(oracle *o, uint32_t code, mpfr_t boundary) {
    const number_system *s = o->system;
    uint32_t mask = (2u << s->bits) - 1;
    if (!s->number(s, s->bits + 1, (2 * code + 1) & mask, boundary)) abort();
}

/* A one behind the code of the smaller magnitude. */
static void half_logarithms(oracle *o, uint32_t low, uint32_t high, mpfr_t boundary) {
    uint32_t sign = 1u << (o->system->bits - 1);
    bool is_negative = (low & sign) != 0 && low != 0;
    uint32_t inner = is_negative ? high & ~sign : low;
    const number_system *s = o->system;
    if (!s->number(s, s->bits + 1, 2 * (inner & (sign - 1)) + 1, boundary)) abort();
    if (is_negative) mpfr_neg(boundary, boundary, MPFR_RNDN);
}

static void set_boundary(oracle *o, int i) {
    const number_system *s = o->system;
    mpfr_t *to = &o->boundary[i];
    bool is_zero = mpfr_zero_p(o->number[i]) || mpfr_zero_p(o->number[i + 1]);
    switch (s->boundaries) {
    case ONE_BIT_MORE: /* nothing but 0 becomes 0 */
        if (is_zero)
            mpfr_set_zero(*to, 1);
        else if (mpfr_cmp_d(o->number[i], 0) > 0 && mpfr_cmp_d(o->number[i], 1) < 0)
            one_bit_more(o, o->code[i], *to); /* toward 1 where codes are left out */
        else if (mpfr_cmp_d(o->number[i], 0) > 0)
            one_bit_more(o, o->code[i + 1] - 1, *to);
        else if (mpfr_cmp_d(o->number[i + 1], -1) > 0)
            one_bit_more(o, o->code[i + 1] - 1, *to);
        else
            one_bit_more(o, o->code[i], *to);
        break;
    case HALF_LOGARITHMS:
        half_logarithms(o, o->code[i], o->code[i + 1], *to);
        break;
    default:
        mpfr_add(*to, o->number[i], o->number[i + 1], MPFR_RNDN);
        mpfr_div_ui(*to, *to, 2, MPFR_RNDN);
        if (s->boundaries == MEANS_IN_FLOAT32)
            mpfr_set_flt(*to, mpfr_get_flt(*to, MPFR_RNDN), MPFR_RNDN);
    }
}

/* Beyond the largest: the next number of the system; where there is none, the boundary itself, or
 * as far away as the one before. */
static void set_ends(oracle *o) {
    const number_system *s = o->system;
    int last = o->count - 1;
    uint32_t code = o->code[last], mask = (1u << s->bits) - 1;
    bool is_more = s->boundaries == ONE_BIT_MORE || s->boundaries == HALF_LOGARITHMS;
    if (s->boundaries == ONE_BIT_MORE)
        one_bit_more(o, code, o->boundary[last]);
    else if (s->boundaries == HALF_LOGARITHMS)
        half_logarithms(o, code, 0, o->boundary[last]);
    if (s->number == hif8_number)
        mpfr_set_d(o->next[1], 0x1.8p15, MPFR_RNDN);
    else if (s->boundaries == ONE_BIT_MORE) {
        if (!s->number(s, s->bits, (code + 1) & mask, o->next[1]))
            mpfr_set(o->next[1], o->boundary[last], MPFR_RNDN);
    } else if (s->boundaries == HALF_LOGARITHMS) {
        mpfr_set_d(o->next[1], (double)code + 1 - ldexp(1, s->bits - 2), MPFR_RNDN);
        mpfr_div_2si(o->next[1], o->next[1], s->argument, MPFR_RNDN);
        mpfr_exp2(o->next[1], o->next[1], MPFR_RNDN);
    } else {
        mpfr_mul_ui(o->next[1], o->number[last], 2, MPFR_RNDN);
        mpfr_sub(o->next[1], o->next[1], o->number[last - 1], MPFR_RNDN);
        mpfr_set_flt(o->next[1], mpfr_get_flt(o->next[1], MPFR_RNDN), MPFR_RNDN);
    }
    if (!is_more) {
        mpfr_add(o->boundary[last], o->number[last], o->next[1], MPFR_RNDN);
        mpfr_div_ui(o->boundary[last], o->boundary[last], 2, MPFR_RNDN);
    }
    mpfr_neg(o->next[0], o->next[1], MPFR_RNDN);
    mpfr_neg(o->low_boundary, o->boundary[last], MPFR_RNDN);
    /* NF4 is not symmetric. */
    if (s->number == nf4_number) {
        mpfr_mul_ui(o->next[0], o->number[0], 2, MPFR_RNDN);
        mpfr_sub(o->next[0], o->next[0], o->number[1], MPFR_RNDN);
        mpfr_set_flt(o->next[0], mpfr_get_flt(o->next[0], MPFR_RNDN), MPFR_RNDN);
        mpfr_add(o->low_boundary, o->number[0], o->next[0], MPFR_RNDN);
        mpfr_div_ui(o->low_boundary, o->low_boundary, 2, MPFR_RNDN);
    }
}

static void *room(size_t bytes) {
    void *block = calloc(1, bytes);
    if (!block) abort();
    return block;
}

static void open_oracle(oracle *o, const number_system *s) {
    uint32_t codes = 1u << s->bits;
    *o = (oracle){.system = s,
                  .number = room(codes * sizeof(mpfr_t)),
                  .boundary = room(codes * sizeof(mpfr_t)),
                  .code = room(codes * sizeof(uint32_t))};
    mpfr_inits2(PRECISION, o->x, o->a, o->b, o->c, o->low_boundary, o->next[0], o->next[1],
                (mpfr_ptr)NULL);
    if (hu_format_parse(s->name, &o->format) != HU_OK) {
        printf("%s\n", hu_last_error());
        exit(1);
    }
    for (uint32_t i = 0; i < codes; i++) {
        uint32_t code = code_in_order(s, i);
        if (!s->number(s, s->bits, code, o->a) || !has_float32(o->a, o->b)) continue;
        mpfr_init2(o->number[o->count], PRECISION);
        mpfr_init2(o->boundary[o->count], PRECISION);
        mpfr_set(o->number[o->count], o->b, MPFR_RNDN);
        o->code[o->count++] = code;
    }
    sort(o);
    for (int i = 0; i + 1 < o->count; i++) set_boundary(o, i);
    set_ends(o);
}

static void close_oracle(oracle *o) {
    for (int i = 0; i < o->count; i++) mpfr_clears(o->number[i], o->boundary[i], (mpfr_ptr)NULL);
    mpfr_clears(o->x, o->a, o->b, o->c, o->low_boundary, o->next[0], o->next[1], (mpfr_ptr)NULL);
    free(o->number);
    free(o->boundary);
    free(o->code);
}

/* Places of numbers; -1 and count are beyond. */

static mpfr_ptr number_at(oracle *o, int place) {
    return place < 0 ? o->next[0] : place == o->count ? o->next[1] : o->number[place];
}

static bool is_odd(const oracle *o, int place) {
    if (place < 0) return !(o->code[0] & 1);
    if (place == o->count) return !(o->code[o->count - 1] & 1);
    return o->code[place] & 1;
}

/* word / 2^32 of the way from `from` to `to`. */
static bool moves(oracle *o, int from, int to, uint32_t word) {
    mpfr_sub(o->a, o->x, number_at(o, from), MPFR_RNDN);
    mpfr_sub(o->b, number_at(o, to), number_at(o, from), MPFR_RNDN);
    mpfr_abs(o->a, o->a, MPFR_RNDN);
    mpfr_abs(o->b, o->b, MPFR_RNDN);
    mpfr_mul_2ui(o->c, o->a, 33, MPFR_RNDN);
    if (mpfr_cmp(o->c, o->b) < 0) return false;
    mpfr_mul_2ui(o->a, o->a, 32, MPFR_RNDN);
    mpfr_mul_ui(o->b, o->b, word, MPFR_RNDN);
    return mpfr_cmp(o->b, o->a) < 0;
}

/* x, not a number of the table, lies above place `low`. */
static int choose(oracle *o, hu_rounding mode, int low, bool is_negative, uint32_t word) {
    int high = low + 1, inner = is_negative ? high : low, outer = is_negative ? low : high;
    bool is_end = low < 0 || high == o->count;
    /* Beyond the next number nothing is left to choose. */
    bool is_far =
        is_end && (low < 0 ? mpfr_cmp(o->x, o->next[0]) <= 0 : mpfr_cmp(o->x, o->next[1]) >= 0);
    int side;
    switch (mode) {
    case HU_ROUND_TOWARD_ZERO:
        return is_far ? outer : inner;
    case HU_ROUND_UP:
        return is_far && low < 0 ? low : high;
    case HU_ROUND_DOWN:
        return is_far && low >= 0 ? high : low;
    case HU_ROUND_TO_ODD:
        if (is_end) return is_far ? outer : inner;
        if (is_odd(o, low) == is_odd(o, high)) return inner;
        return is_odd(o, low) ? low : high;
    case HU_ROUND_STOCHASTIC:
        if (is_far) return outer;
        return moves(o, inner, outer, word) ? outer : inner;
    default:
        break;
    }
    side = mpfr_cmp(o->x, low < 0 ? o->low_boundary : o->boundary[low]);
    if (side != 0) return side > 0 ? high : low;
    tie_rule ties = mode == HU_ROUND_NEAREST_AWAY ? AWAY : o->system->ties;
    if (ties == LOWER) return low;
    if (ties == AWAY) return outer;
    if (is_odd(o, low) == is_odd(o, high)) return inner;
    return is_odd(o, low) ? high : low;
}

static bool stays_finite(hu_rounding mode, bool is_negative) {
    return mode == HU_ROUND_TOWARD_ZERO || mode == HU_ROUND_TO_ODD ||
           mode == (is_negative ? HU_ROUND_UP : HU_ROUND_DOWN);
}

static float beyond(oracle *o, hu_rounding mode, bool is_negative, bool is_infinite) {
    int place = is_negative ? 0 : o->count - 1;
    float last = ldexpf(mpfr_get_flt(o->number[place], MPFR_RNDN), -o->format.bias);
    if (is_infinite && o->system->nan_of_infinity) return NAN;
    if (!is_infinite && stays_finite(mode, is_negative)) return last;
    if (o->format.overflow == HU_OVERFLOW_INF) return is_negative ? -INFINITY : INFINITY;
    return o->format.overflow == HU_OVERFLOW_SAT ? last : NAN;
}

static float expected(oracle *o, hu_rounding mode, float x, uint32_t word) {
    int low = 0, high = o->count;
    if (isnan(x)) return NAN;
    if (isinf(x)) return beyond(o, mode, x < 0, true);
    mpfr_set_flt(o->x, x, MPFR_RNDN);
    mpfr_mul_2si(o->x, o->x, o->format.bias, MPFR_RNDN);
    while (low < high) {
        int middle = (low + high) / 2;
        if (mpfr_cmp(o->number[middle], o->x) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    int place = low - 1;
    if (place < 0 || mpfr_cmp(o->number[place], o->x) != 0)
        place = choose(o, mode, place, x < 0, word);
    if (place < 0 || place == o->count) return beyond(o, mode, place < 0, false);
    mpfr_mul_2si(o->a, o->number[place], -o->format.bias, MPFR_RNDN);
    return mpfr_get_flt(o->a, MPFR_RNDN) + 0.0f;
}

/* ---- comparisons ---- */

static void note(const char *name, const char *what, float x, uint32_t word, float found,
                 float wanted) {
    enum { SHOWN = 20 };
    bool is_same = hu_f32_bits(found) == hu_f32_bits(wanted) || (isnan(found) && isnan(wanted));
    if (is_same)
        passed++;
    else if (failed++ < SHOWN)
        printf("%s %s: x = %a, word 0x%08x: found %a, expected %a\n", name, what, (double)x, word,
               (double)found, (double)wanted);
}

static void check_input(oracle *o, float x, uint32_t word) {
    for (int mode = 0; mode < HU_ROUND_COUNT; mode++)
        note(o->system->name, hu_rounding_name((hu_rounding)mode), x, word,
             hu_format_round(&o->format, (hu_rounding)mode, x, word),
             expected(o, (hu_rounding)mode, x, word));
}

/* A number and three neighbours on both sides, with words around the one that decides. */
static void check_near(oracle *o, mpfr_t number, const hu_random_key *key, uint64_t *index) {
    static const uint32_t words[] = {0, 1, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff};
    mpfr_mul_2si(o->c, number, -o->format.bias, MPFR_RNDN);
    float at = mpfr_get_flt(o->c, MPFR_RNDN), low = at, high = at;
    check_input(o, at, words[*index % 6]);
    for (int i = 0; i < 3; i++) {
        check_input(o, low = nextafterf(low, -INFINITY), hu_random_word(key, (*index)++));
        check_input(o, high = nextafterf(high, INFINITY), hu_random_word(key, (*index)++));
    }
}

static void check_codes(oracle *o) {
    const number_system *s = o->system;
    for (int i = 0; i < o->count; i++) {
        float wanted = mpfr_get_flt(o->number[i], MPFR_RNDN), found;
        uint32_t code;
        wanted = ldexpf(wanted, -o->format.bias);
        if (hu_format_decode(&o->format, o->code[i], &found) != HU_OK) found = NAN;
        note(s->name, "decoded", (float)o->code[i], 0, found, wanted);
        if (hu_format_encode(&o->format, wanted, &code) != HU_OK) code = UINT32_MAX;
        note(s->name, "encoded", wanted, 0, (float)code, (float)o->code[i]);
    }
}

static void check_system(const number_system *s, bool is_short) {
    oracle o;
    open_oracle(&o, s);
    const hu_random_key key = {5, (uint64_t)s->bits, (uint64_t)s->argument};
    uint64_t index = 0, before = failed;
    int step = is_short && s->bits > 10 ? 173 : 1, random = is_short ? 500 : 50000;
    check_codes(&o);
    for (int i = 0; i < o.count; i += i < 40 || i + 40 > o.count ? 1 : step) {
        check_near(&o, o.number[i], &key, &index);
        check_near(&o, o.boundary[i], &key, &index);
    }
    check_near(&o, o.low_boundary, &key, &index);
    check_near(&o, o.next[0], &key, &index);
    check_near(&o, o.next[1], &key, &index);
    for (int i = 0; i < random; i++)
        check_input(&o, hu_f32_of_bits(hu_random_word(&key, index + (uint64_t)i)),
                    hu_random_word(&key, (uint64_t)i));
    printf("%-14s %5d numbers of float32, %llu failed\n", s->name, o.count,
           (unsigned long long)(failed - before));
    close_oracle(&o);
}

/* 24-bit boundaries and a scale: the same system, its numbers times 2^5. */
static number_system scaled(const number_system *s, char *name) {
    number_system twin = *s;
    snprintf(name, 40, "%s:bias=-5", s->name);
    twin.name = name;
    return twin;
}

int main(int argc, char **argv) {
    bool is_short = argc > 1 && strcmp(argv[1], "--short") == 0;
    char name[40];
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
        check_system(&systems[i], is_short);
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
        number_system twin = scaled(&systems[i], name);
        hu_format format;
        if (hu_format_parse(name, &format) == HU_OK) check_system(&twin, true);
    }
    printf("%llu passed, %llu failed\n", (unsigned long long)passed, (unsigned long long)failed);
    mpfr_free_cache();
    return failed != 0;
}
