/* The integer reference against MPFR (all modes; numbers that are texts too) and against F16C
 * (fp16), and bf16 against the truncation of bit patterns. Long form: 2^24 inputs per format of a
 * list, 2^17 for each of the 168 formats of 2 to 8 exponent and 0 to 23 fraction bits, all 2^32
 * against F16C in four modes;
 * --short: 2^16, 2^10 and 2^22. */
#include <halfulp/format.h>

#include <math.h>
#include <mpfr.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/value.h"
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

enum { SHOWN_FAILURES = 10 };

static uint64_t passed, failed;

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void compare(const char *name, const char *what, uint32_t input, uint32_t word, float result,
                    float expected) {
    if (bits_of(result) == bits_of(expected)) {
        passed++;
        return;
    }
    if (failed++ < SHOWN_FAILURES)
        printf("%s %s: x = %a (0x%08x), word 0x%08x: found %a (0x%08x), expected %a (0x%08x)\n",
               name, what, (double)float_of(input), input, word, (double)result, bits_of(result),
               (double)expected, bits_of(expected));
}

/* Numbers of one format and the work space of one input, all exact. */
typedef struct oracle {
    const char *name;
    hu_format format;
    int emin;
    mpfr_t largest; /* largest finite value */
    mpfr_t x;       /* |input| */
    mpfr_t q;       /* |input| in units of the last place */
    mpfr_t n;       /* rounded q */
    mpfr_t r;       /* scratch */
} oracle;

/* precision: bits of every number, enough for all of them to be exact. */
static void oracle_open(oracle *o, const hu_format *format, const char *name,
                        mpfr_prec_t precision) {
    o->name = name;
    o->format = *format;
    o->emin = 1 - o->format.bias;
    mpfr_inits2(precision, o->largest, o->x, o->q, o->n, o->r, (mpfr_ptr)NULL);
    /* (2 - 2^-m) 2^emax, one step less for FN */
    int m = o->format.man_bits;
    int top_field = (1 << o->format.exp_bits) - (o->format.specials == HU_SPECIALS_IEEE ? 2 : 1);
    unsigned long significand = (2ul << m) - (o->format.specials == HU_SPECIALS_FN ? 2 : 1);
    mpfr_set_ui_2exp(o->largest, significand, top_field - o->format.bias - m, MPFR_RNDN);
}

static void oracle_close(oracle *o) {
    mpfr_clears(o->largest, o->x, o->q, o->n, o->r, (mpfr_ptr)NULL);
}

/* n = q + 1 truncated, if the fraction of q exceeds word / 2^32; fractions below 2^-33 do not. */
static void stochastic(oracle *o, uint32_t word) {
    mpfr_trunc(o->n, o->q);
    mpfr_frac(o->r, o->q, MPFR_RNDZ);
    int is_tiny = mpfr_cmp_ui_2exp(o->r, 1, -33) < 0;
    if (!is_tiny && mpfr_cmp_ui_2exp(o->r, word, -32) > 0) mpfr_add_ui(o->n, o->n, 1, MPFR_RNDN);
}

/* IEEE P3109, Interim Report 4.0, 4.7.4, word for word: the fraction v of o->q and N random bits,
 * an integer R, go up where this says. */
static bool p3109_goes_up(oracle *o, uint32_t n, hu_random_kind kind, unsigned long random) {
    mpfr_frac(o->r, o->q, MPFR_RNDZ);
    mpfr_mul_2ui(o->r, o->r, n + (kind == HU_RANDOM_B), MPFR_RNDN);
    if (kind == HU_RANDOM_C)
        mpfr_roundeven(o->r, o->r);
    else
        mpfr_floor(o->r, o->r);
    unsigned long v = mpfr_get_ui(o->r, MPFR_RNDZ);
    if (kind == HU_RANDOM_B) return v + 2 * random + 1 >= 2ul << n;
    return v + random >= 1ul << n;
}

static void stated_bits(oracle *o, hu_rounding mode, uint32_t word) {
    uint32_t n = hu_rounding_bits(mode);
    unsigned long random = (1ul << n) - 1 - (word >> (32 - n));
    mpfr_trunc(o->n, o->q);
    if (p3109_goes_up(o, n, hu_rounding_kind(mode), random)) mpfr_add_ui(o->n, o->n, 1, MPFR_RNDN);
}

static void to_odd(oracle *o) {
    mpfr_trunc(o->n, o->q);
    int is_even = (mpfr_get_ui(o->n, MPFR_RNDZ) & 1) == 0;
    if (is_even && mpfr_cmp(o->n, o->q) != 0) mpfr_add_ui(o->n, o->n, 1, MPFR_RNDN);
}

static void round_units(oracle *o, hu_rounding mode, int is_negative, uint32_t word) {
    switch (hu_rounding_mode(mode)) {
    case HU_ROUND_NEAREST_EVEN:
        mpfr_roundeven(o->n, o->q);
        break;
    case HU_ROUND_NEAREST_AWAY:
        mpfr_round(o->n, o->q);
        break;
    case HU_ROUND_UP:
        mpfr_rint(o->n, o->q, is_negative ? MPFR_RNDZ : MPFR_RNDA);
        break;
    case HU_ROUND_DOWN:
        mpfr_rint(o->n, o->q, is_negative ? MPFR_RNDA : MPFR_RNDZ);
        break;
    case HU_ROUND_TO_ODD:
        to_odd(o);
        break;
    case HU_ROUND_STOCHASTIC:
        if (hu_rounding_bits(mode))
            stated_bits(o, mode, word);
        else
            stochastic(o, word);
        break;
    default:
        mpfr_trunc(o->n, o->q);
    }
}

static float beyond(const oracle *o, bool is_infinite) {
    if (o->format.overflow == HU_OVERFLOW_PROPAGATE && is_infinite) return INFINITY;
    if (o->format.overflow == HU_OVERFLOW_INF) return INFINITY;
    if (o->format.overflow == HU_OVERFLOW_NAN) return float_of(0x7FC00000u);
    return mpfr_get_flt(o->largest, MPFR_RNDN);
}

static int stays_finite(hu_rounding mode, int is_negative) {
    return mode == HU_ROUND_TOWARD_ZERO || mode == HU_ROUND_TO_ODD ||
           mode == (is_negative ? HU_ROUND_UP : HU_ROUND_DOWN);
}

/* Magnitude of the rounded finite nonzero number whose magnitude is o->x. */
static float rounded_magnitude(oracle *o, int is_negative, hu_rounding mode, uint32_t word) {
    int m = o->format.man_bits;
    long exponent = mpfr_get_exp(o->x) - 1;
    long place = exponent > o->emin ? exponent : o->emin;
    /* Whole multiples of the smallest normal number below it. */
    if (o->format.underflow == HU_UNDERFLOW_NEAREST && exponent < o->emin) m = 0;
    mpfr_mul_2si(o->q, o->x, m - place, MPFR_RNDN);
    round_units(o, mode, is_negative, word);
    mpfr_mul_2si(o->n, o->n, place - m, MPFR_RNDN);
    if (mpfr_cmp(o->n, o->largest) > 0)
        return stays_finite(mode, is_negative) ? mpfr_get_flt(o->largest, MPFR_RNDN)
                                               : beyond(o, false);
    if (!o->format.subnormals && mpfr_cmp_si_2exp(o->n, 1, o->emin) < 0) return 0.0f;
    return mpfr_get_flt(o->n, MPFR_RNDN);
}

static float signed_result(const oracle *o, bool is_negative, float magnitude) {
    if (magnitude == 0.0f && o->format.specials == HU_SPECIALS_FNUZ) return 0.0f;
    return float_of(bits_of(magnitude) | (is_negative ? 0x80000000u : 0));
}

static float oracle_round(oracle *o, float x, hu_rounding mode, uint32_t word) {
    float magnitude = 0.0f;
    bool overflows = isnan(x) && o->format.nan == HU_NAN_OVERFLOWS;
    if (isnan(x) && !overflows) return float_of(bits_of(x) | 0x00400000u);
    if (isinf(x) || overflows)
        magnitude = beyond(o, true);
    else if (x != 0.0f) {
        mpfr_set_flt(o->x, fabsf(x), MPFR_RNDN);
        magnitude = rounded_magnitude(o, signbit(x) != 0, mode, word);
    }
    return signed_result(o, signbit(x) != 0, magnitude);
}

/* Input i: multiples of a prime modulo 2^32; three of four are moved to the grid of midpoints
 * (last place of the format halved) and to both its neighbours. */
static uint32_t input_pattern(const hu_format *format, uint64_t i) {
    uint32_t bits = (uint32_t)(i * 2654435761u);
    uint32_t grid = format->man_bits < 22 ? (1u << (22 - format->man_bits)) - 1 : 0;
    switch (i & 3) {
    case 1:
        return bits & ~grid;
    case 2:
        return (bits & ~grid) + 1;
    case 3:
        return (bits & ~grid) - 1;
    default:
        return bits;
    }
}

enum { MODES = HU_ROUND_COUNT + HU_RANDOM_COUNT };

/* Every mode without stated bits; each kind with another number of bits for each input. */
static hu_rounding mode_at(int index, uint64_t input) {
    if (index < HU_ROUND_COUNT) return (hu_rounding)index;
    return hu_rounding_of_bits(1 + (uint32_t)(input / 4 % HU_RANDOM_BITS_MOST),
                               (hu_random_kind)(index - HU_ROUND_COUNT));
}

static void check_format(const hu_format *format, const char *name, uint64_t inputs) {
    oracle o;
    oracle_open(&o, format, name, 64);
    for (uint64_t i = 0; i < inputs; i++) {
        uint32_t bits = input_pattern(format, i);
        /* every eighth word is small: it decides for fractions far below one place */
        uint32_t word = (uint32_t)(i * 1597334677u) >> (i % 8 == 7 ? 30 : 0);
        for (int index = 0; index < MODES; index++) {
            hu_rounding mode = mode_at(index, i);
            float x = float_of(bits);
            float result = hu_format_round(format, mode, x, word);
            compare(name, hu_rounding_name(mode), bits, word, result,
                    oracle_round(&o, x, mode, word));
        }
    }
    oracle_close(&o);
}

/* ---- numbers as texts ---- */

/* Texts have at most 250 digits and the least place 10^-320, boundaries the least bit 2^-190: two
 * that differ do so by more than 2^-1300 of themselves. */
enum { TEXT_BYTES = 512, TEXT_BITS = 3000, DIGITS_BEHIND = 199 };

static uint64_t text_state = 88172645463325252u;

/* xorshift64 (Marsaglia 2003). */
static uint64_t next_word(void) {
    text_state ^= text_state << 13;
    text_state ^= text_state >> 7;
    text_state ^= text_state << 17;
    return text_state;
}

/* Digits as many as a number of 1 to 40, a point among them, an exponent. */
static void random_decimal(char *text) {
    int digits = 1 + (int)(next_word() % 40), point = (int)(next_word() % 40);
    char *at = text;
    for (int i = 0; i < digits; i++) {
        if (i == point) *at++ = '.';
        *at++ = (char)('0' + next_word() % 10);
    }
    sprintf(at, "%c%d", next_word() & 1 ? 'e' : 'E', (int)(next_word() % 120) - 60);
}

static void random_hexadecimal(char *text) {
    sprintf(text, "0X%x.%016llx%08xp%+d", (unsigned)(next_word() % 16),
            (unsigned long long)next_word(), (unsigned)next_word(), (int)(next_word() % 340) - 170);
}

/* A number at which results change: the middle of two numbers of the format, or, of one of few
 * mantissa bits, where the draw `word` decides. */
static double boundary(const hu_format *format, uint32_t word) {
    int m = format->man_bits, emin = 1 - format->bias;
    uint64_t n = next_word() >> 1 & ((2ull << m) - 1);
    int step = emin - m + (int)(next_word() % (1u << format->exp_bits));
    if (m > 20 || next_word() & 1) return ldexp((double)(2 * n + 1), step - 1);
    return ldexp((double)(n << 32 | word), step - 32);
}

/* The boundary written in full, or a unit of its last digit, 10^-199 of it, above or below. */
static void near_boundary(const hu_format *format, uint32_t word, char *text) {
    char exponent[16];
    sprintf(text, "%.*e", DIGITS_BEHIND, boundary(format, word));
    char *end = strchr(text, 'e');
    strcpy(exponent, end);
    switch (next_word() % 3) {
    case 0:
        end[-1] = '1'; /* all digits are written: the last is 0 */
        break;
    case 1:
        for (char *at = end - 1; at >= text; at--) {
            if (*at == '.') continue;
            if (*at != '0') {
                --*at;
                break;
            }
            *at = '9';
        }
        break;
    }
    strcpy(end, exponent);
}

static void make_text(const hu_format *format, uint32_t word, char *text) {
    bool is_negative = next_word() & 1;
    if (is_negative) *text++ = '-';
    switch (next_word() % 4) {
    case 0:
        random_decimal(text);
        break;
    case 1:
        random_hexadecimal(text);
        break;
    default:
        near_boundary(format, word, text);
    }
}

/* A text in all modes. */
static void check_text(oracle *o, const char *text, uint64_t input, uint32_t word) {
    bool is_negative = *text == '-';
    for (int index = 0; index < MODES; index++) {
        hu_rounding mode = mode_at(index, 4 * input);
        float result = NAN, expected = 0.0f;
        mpfr_set_str(o->x, text + is_negative, 0, MPFR_RNDN);
        if (mpfr_zero_p(o->x) == 0) expected = rounded_magnitude(o, is_negative, mode, word);
        expected = signed_result(o, is_negative, expected);
        hu_status st = hu_format_round_text(&o->format, mode, text, word, &result);
        if (st == HU_OK && bits_of(result) == bits_of(expected)) {
            passed++;
        } else if (failed++ < SHOWN_FAILURES) {
            printf("%s %s: '%s', word 0x%08x: found %a, expected %a\n", o->name,
                   hu_rounding_name(mode), text, word, (double)result, (double)expected);
        }
    }
}

static void check_texts(const hu_format *format, const char *name, uint64_t inputs) {
    oracle o;
    oracle_open(&o, format, name, TEXT_BITS);
    for (uint64_t i = 0; i < inputs; i++) {
        char text[TEXT_BYTES];
        uint32_t word = (uint32_t)next_word() >> (i % 8 == 7 ? 30 : 0);
        make_text(format, word, text);
        check_text(&o, text, i, word);
    }
    oracle_close(&o);
}

static void check_named(const char *name, uint64_t inputs, uint64_t texts) {
    hu_format format;
    if (hu_format_parse(name, &format) != HU_OK) {
        printf("%s: %s\n", name, hu_last_error());
        failed++;
    }
    check_format(&format, name, inputs);
    check_texts(&format, name, texts);
    printf("%s: %llu inputs and %llu texts in %d modes\n", name, (unsigned long long)inputs,
           (unsigned long long)texts, MODES);
}

static void check_space(uint64_t inputs) {
    for (uint8_t e = 2; e <= 8; e++)
        for (uint8_t m = 0; m <= 23; m++) {
            hu_format format = {.exp_bits = e, .man_bits = m, .subnormals = 1};
            char name[64];
            format.bias = (1 << (e - 1)) - 1;
            hu_format_print(&format, name, sizeof name);
            check_format(&format, name, inputs);
            check_texts(&format, name, inputs / 64);
        }
    printf("168 formats: %llu inputs each in %d modes\n", (unsigned long long)inputs, MODES);
}

/* Calls check with every midpoint of neighbouring 16-bit codes, the one above the largest finite
 * code too, with both its float32 neighbours and with both signs. */
static void for_every_midpoint(float (*value)(uint32_t), void (*check)(uint32_t)) {
    for (uint32_t code = 0; code < 0x8000u; code++) {
        double low = (double)value(code), high = (double)value(code + 1);
        if (isnan(low) || isnan(high) || isinf(low)) continue;
        if (isinf(high)) high = 2 * low - (double)value(code - 1);
        uint32_t middle = bits_of((float)((low + high) / 2));
        for (uint32_t bits = middle - 1; bits != middle + 2; bits++) {
            check(bits);
            check(bits | 0x80000000u);
        }
    }
}

static hu_format bf16;

static float bf16_value(uint32_t code) {
    return float_of(code << 16);
}

/* Nearest-even by adding just under half a place and what is odd, then cutting 16 bits. */
static void check_bf16(uint32_t bits) {
    float x = float_of(bits);
    uint32_t cut = (bits + 0x7FFFu + ((bits >> 16) & 1)) & 0xFFFF0000u;
    if (isnan(x)) return;
    compare("bf16", "bit patterns", bits, 0, hu_format_round(&bf16, HU_ROUND_NEAREST_EVEN, x, 0),
            float_of(cut));
    compare("bf16", "bit patterns", bits, 0, hu_format_round(&bf16, HU_ROUND_TOWARD_ZERO, x, 0),
            float_of(bits & 0xFFFF0000u));
}

static void check_bf16_codes(void) {
    hu_format_parse("bf16", &bf16);
    for (uint32_t code = 0; code < 0x10000u; code++) {
        float x;
        hu_format_decode(&bf16, code, &x);
        if (!isnan(x)) compare("bf16", "decode", code, 0, x, bf16_value(code));
    }
    for_every_midpoint(bf16_value, check_bf16);
}

#if defined(__x86_64__)
static hu_format fp16;

__attribute__((target("f16c"))) static float fp16_value(uint32_t code) {
    return _cvtsh_ss((unsigned short)code);
}

__attribute__((target("f16c"))) static uint16_t fp16_hardware(float x, hu_rounding mode) {
    switch (mode) {
    case HU_ROUND_TOWARD_ZERO:
        return _cvtss_sh(x, _MM_FROUND_TO_ZERO);
    case HU_ROUND_UP:
        return _cvtss_sh(x, _MM_FROUND_TO_POS_INF);
    case HU_ROUND_DOWN:
        return _cvtss_sh(x, _MM_FROUND_TO_NEG_INF);
    default:
        return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT);
    }
}

static void check_fp16(uint32_t bits) {
    static const hu_rounding modes[] = {HU_ROUND_NEAREST_EVEN, HU_ROUND_TOWARD_ZERO, HU_ROUND_UP,
                                        HU_ROUND_DOWN};
    float x = float_of(bits);
    if (isnan(x)) return;
    for (int i = 0; i < 4; i++) {
        uint16_t code = fp16_hardware(x, modes[i]);
        uint32_t own_code = 0;
        float result = hu_format_round(&fp16, modes[i], x, 0);
        compare("fp16", "F16C", bits, 0, result, fp16_value(code));
        if (hu_format_encode(&fp16, result, &own_code) != HU_OK || own_code != code) {
            printf("fp16: %a encodes to 0x%04x, expected 0x%04x\n", (double)result, own_code, code);
            failed++;
        }
    }
}

static int has_f16c(void) {
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0 && __builtin_cpu_supports("avx");
}

/* Patterns block << 12 .. + 4095, without NaNs; returns the failures. */
static uint64_t sweep_fp16(uint32_t block) {
    static const hu_rounding modes[] = {HU_ROUND_NEAREST_EVEN, HU_ROUND_TOWARD_ZERO, HU_ROUND_UP,
                                        HU_ROUND_DOWN};
    uint64_t wrong = 0;
    for (uint32_t bits = block << 12;; bits++) {
        float x = float_of(bits);
        for (int i = 0; i < 4 && !isnan(x); i++) {
            float result = hu_format_round(&fp16, modes[i], x, 0);
            wrong += bits_of(result) != bits_of(fp16_value(fp16_hardware(x, modes[i])));
        }
        if ((bits & 0xFFFu) == 0xFFFu) return wrong;
    }
}

/* Every stride-th block of 4,096 patterns. */
static void check_fp16_hardware(uint32_t stride) {
    uint64_t wrong = 0;
    hu_format_parse("fp16", &fp16);
    for (uint32_t code = 0; code < 0x10000u; code++) {
        float x, expected = fp16_value(code);
        hu_format_decode(&fp16, code, &x);
        if (isnan(expected)) expected = float_of(0x7FC00000u | (code & 0x8000u) << 16);
        compare("fp16", "F16C decode", code, 0, x, expected);
    }
    for_every_midpoint(fp16_value, check_fp16);
#pragma omp parallel for reduction(+ : wrong) schedule(dynamic, 64)
    for (uint32_t block = 0; block < 1u << 20; block += stride) wrong += sweep_fp16(block);
    uint64_t swept = (((uint64_t)1 << 20) + stride - 1) / stride * 4096 * 4;
    failed += wrong;
    passed += swept - wrong;
    printf("fp16: compared with F16C, %llu of the comparisons in a sweep of patterns in 4 modes\n",
           (unsigned long long)swept);
}
#endif

int main(int argc, char **argv) {
    static const char *const names[] = {"fp16",
                                        "bf16",
                                        "1/6/9/d",
                                        "1/6/9/n",
                                        "e5m2",
                                        "e4m3fn",
                                        "e4m3fn:ovf=sat",
                                        "e5m2:ovf=propagate",
                                        "e2m1",
                                        "fp(4,3,4)",
                                        "e3m0",
                                        "e8m23",
                                        "e2m5",
                                        "e5m2fnuz",
                                        "e5m0:bias=140",
                                        "1/6/9:sub=nearest",
                                        "e4m3:sub=nearest",
                                        "e8m7:sub=nearest",
                                        "e4m3:bias=140:sub=nearest",
                                        "e5m23:sub=nearest",
                                        "e3m0:sub=nearest",
                                        "fp(4,3,4):nan=ovf",
                                        "fp(5,2,0):ovf=inf:nan=ovf",
                                        "fp(4,3,4):sub=nearest:ovf=nan:nan=ovf"};
    int is_short = argc > 1 && strcmp(argv[1], "--short") == 0;
    uint64_t inputs = (uint64_t)1 << (is_short ? 16 : 24);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        check_named(names[i], inputs, inputs >> 6);
    check_space((uint64_t)1 << (is_short ? 10 : 17));
    check_bf16_codes();
#if defined(__x86_64__)
    if (has_f16c())
        check_fp16_hardware(is_short ? 1021 : 1);
    else
        printf("fp16: no F16C here, not compared with hardware\n");
#endif
    printf("%llu passed, %llu failed\n", (unsigned long long)passed, (unsigned long long)failed);
    mpfr_free_cache();
    return failed != 0;
}
