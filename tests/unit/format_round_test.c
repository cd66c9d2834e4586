#include <halfulp/format.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "format/value.h"

static hu_format parsed(const char *text) {
    hu_format format;
    if (hu_format_parse(text, &format) != HU_OK) fail_msg("'%s': %s", text, hu_last_error());
    return format;
}

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

static void assert_bits(const char *what, float x, float result, float expected) {
    if (bits_of(result) != bits_of(expected))
        fail_msg("%s: %a gives %a (0x%08x), expected %a (0x%08x)", what, (double)x, (double)result,
                 bits_of(result), (double)expected, bits_of(expected));
}

typedef struct example {
    const char *format;
    hu_rounding rounding;
    float x, expected;
} example;

#define RNE HU_ROUND_NEAREST_EVEN
#define RNA HU_ROUND_NEAREST_AWAY
#define RZ HU_ROUND_TOWARD_ZERO
#define RU HU_ROUND_UP
#define RD HU_ROUND_DOWN
#define RODD HU_ROUND_TO_ODD
#define SR HU_ROUND_STOCHASTIC

/* clang-format off */
static const example worked_examples[] = {
    {"e5m2", RNE, 1.125f, 1.0f},
    {"e5m2", RNE, 1.375f, 1.5f},
    {"e5m2", RNE, 1.625f, 1.5f},
    {"e5m2", RNE, 1.875f, 2.0f},
    {"e5m2", RNA, 1.125f, 1.25f},
    {"e5m2", RNE, 61439.0f, 57344.0f},
    {"e5m2", RNE, 61440.0f, INFINITY},
    {"e5m2", RNE, 0x1p-17f, 0.0f},
    {"e5m2", RNE, 0x1.8p-17f, 0x1p-16f},
    {"e5m2", RNE, 5 * 0x1p-17f, 0x1p-15f},
    {"e5m2", RNA, 5 * 0x1p-17f, 3 * 0x1p-16f},
    {"e5m2", RNE, 7 * 0x1p-17f, 0x1p-14f},
    {"fp(4,3,4)", RNE, 30.9f, 30.0f},
    {"fp(4,3,4)", RNE, 31.0f, 30.0f},
    {"fp(4,3,4)", RNE, 100.0f, 30.0f},
    {"fp(4,3,4):ovf=inf", RNE, 30.9f, 30.0f},
    {"fp(4,3,4):ovf=inf", RNE, 31.0f, INFINITY},
    {"fp(4,3,4):ovf=inf", RNE, 100.0f, INFINITY},
    {"fp(4,3,4)", RNE, 0x1p-14f, 0.0f},
    {"fp(4,3,4)", RNA, 0x1p-14f, 0x1p-13f},
    {"fp(4,3,4)", RNE, 15 * 0x1p-14f, 0x1p-10f},
    {"fp(4,3,4)", RNA, 15 * 0x1p-14f, 0x1p-10f},
    {"fp(4,3,4)", RNE, 1.0625f, 1.0f},
    {"fp(4,3,4)", RNA, 1.0625f, 1.125f},
    {"e3m0", RNE, 1.5f, 2.0f},
    {"e3m0", RNE, 3.0f, 4.0f},
    {"e3m0", RNE, 0.375f, 0.5f},
    {"e3m0", RNE, 0.125f, 0.0f},
    {"e3m0", RNE, 0.1875f, 0.25f},
    {"e3m0", RNE, 11.9f, 8.0f},
    {"e3m0", RNE, 12.0f, INFINITY},
    {"fp16", RNE, 65519.0f, 65504.0f},
    {"fp16", RNE, 65520.0f, INFINITY},
    {"fp16", RNE, 0x1p-25f, 0.0f},
    {"fp16", RNE, 0x1.8p-25f, 0x1p-24f},
    {"fp16", RNE, 2049.0f, 2048.0f},
    {"fp16", RNE, 2051.0f, 2052.0f},
    {"1/6/9/d", RNE, 1 + 0x1p-10f, 1.0f},
    {"1/6/9/d", RNE, 1 + 3 * 0x1p-10f, 1 + 0x1p-8f},
    {"e4m3fn:ovf=sat", RNE, 464.0f, 448.0f},
    {"e4m3fn:ovf=sat", RNE, 465.0f, 448.0f},
    {"e4m3fn:ovf=inf", RNE, 464.0f, 448.0f},
    {"e4m3fn:ovf=inf", RNE, 465.0f, INFINITY},
};

/* NAN below means 0x7FC00000 with the sign of x. */
static const example overflow_examples[] = {
    {"e5m2", RZ, 1e30f, 57344.0f},   {"e5m2", RZ, -1e30f, -57344.0f},
    {"e5m2", RU, 1e30f, INFINITY},   {"e5m2", RU, -1e30f, -57344.0f},
    {"e5m2", RD, 1e30f, 57344.0f},   {"e5m2", RD, -1e30f, -INFINITY},
    {"e5m2", RU, 57345.0f, INFINITY}, {"e5m2", RD, 57345.0f, 57344.0f},
    {"e5m2", RODD, 1e30f, 57344.0f}, {"e5m2", RODD, -1e30f, -57344.0f},
    {"e5m2", RNA, 61439.0f, 57344.0f}, {"e5m2", RNA, -61440.0f, -INFINITY},
    {"e5m2", RZ, INFINITY, INFINITY}, {"e5m2", RODD, -INFINITY, -INFINITY},
    {"e5m2", RU, -INFINITY, -INFINITY}, {"e5m2", RD, INFINITY, INFINITY},
    {"e2m1", RZ, INFINITY, 6.0f},    {"e2m1", RU, 6.5f, 6.0f},
    {"e2m1", RNE, -INFINITY, -6.0f}, {"e2m1:ovf=inf", RNE, 7.0f, INFINITY},
    {"e4m3fn", RNE, 1e9f, NAN},      {"e4m3fn", RZ, 1e9f, 448.0f},
    {"e4m3fn", RU, 449.0f, NAN},     {"e4m3fn", RNE, INFINITY, NAN},
    {"e4m3fn", RODD, 449.0f, 448.0f}, {"e4m3fn", RZ, -INFINITY, -NAN},
    {"e4m3fn", RNE, -1e9f, -NAN},    {"e4m3fn", RNA, 464.0f, NAN},
    {"e4m3fnuz", RNE, 248.0f, NAN},  {"e4m3fnuz:ovf=sat", RNE, -1e9f, -240.0f},
    {"e4m3fn", SR, 1e9f, NAN},       {"e2m1", SR, 1e9f, 6.0f},
    {"e5m2", SR, 65536.0f, INFINITY}, {"e5m2", SR, INFINITY, INFINITY},
};

static const example directed_and_odd_examples[] = {
    {"e5m2", RZ, 1.99f, 1.75f},      {"e5m2", RZ, -1.99f, -1.75f},
    {"e5m2", RU, 1.01f, 1.25f},      {"e5m2", RU, -1.24f, -1.0f},
    {"e5m2", RD, 1.24f, 1.0f},       {"e5m2", RD, -1.01f, -1.25f},
    {"e5m2", RU, 0x1p-149f, 0x1p-16f}, {"e5m2", RD, 0x1p-149f, 0.0f},
    {"e5m2", RU, -0x1p-149f, -0.0f}, {"e5m2", RD, -0x1p-149f, -0x1p-16f},
    {"e5m2", RODD, 1.0f, 1.0f},      {"e5m2", RODD, 1.01f, 1.25f},
    {"e5m2", RODD, 1.3f, 1.25f},     {"e5m2", RODD, 0x1p-149f, 0x1p-16f},
    {"e5m2", RODD, -1.99f, -1.75f},  {"e3m0", RODD, 1.99f, 1.0f},
    {"e3m0", RODD, 0.01f, 0.25f},    {"e3m0", RU, 0.01f, 0.25f},
};

/* Rounded first, then what is still below the smallest normal becomes 0. */
static const example flush_examples[] = {
    {"1/6/9/n", RNE, 0x1p-30f, 0x1p-30f},
    {"1/6/9/n", RNE, 0x1p-30f - 0x1p-40f, 0x1p-30f},
    {"1/6/9/n", RNE, 0x1p-30f - 0x1p-40f - 0x1p-54f, 0.0f},
    {"1/6/9/n", RNE, -0x1p-31f, -0.0f},
    {"1/6/9/n", RU, 0x1p-31f, 0.0f},
    {"1/6/9/n", RU, 0x1p-30f - 0x1p-50f, 0x1p-30f},
    {"e4m3fnuz:sub=n", RNE, -0x1p-9f, 0.0f},
    {"e4m3fnuz", RNE, -0.0f, 0.0f},
    {"e4m3fnuz", RNE, -0x1p-20f, 0.0f},
    {"e4m3fn", RNE, -0x1p-20f, -0.0f},
    {"e4m3fn", RNE, -0.0f, -0.0f},
};

/* Below the smallest normal number there is one quantum: that number. The tie goes to zero, the
 * even one of the two whole quanta, or away; directed and odd modes go where their side lies. */
static const example nearest_examples[] = {
    {"1/6/9:sub=nearest", RNE, 0x1p-30f, 0x1p-30f},
    {"1/6/9:sub=nearest", RNE, 0x1.8p-31f, 0x1p-30f},
    {"1/6/9:sub=nearest", RNE, 0x1p-31f, 0.0f},
    {"1/6/9:sub=nearest", RNE, 0x1p-31f + 0x1p-54f, 0x1p-30f},
    {"1/6/9:sub=nearest", RNE, 0x1p-31f - 0x1p-55f, 0.0f},
    {"1/6/9:sub=nearest", RNE, -0x1p-31f, -0.0f},
    {"1/6/9:sub=nearest", RNE, -0x1.8p-31f, -0x1p-30f},
    {"1/6/9:sub=nearest", RNE, 0x1p-30f + 0x1p-40f, 0x1p-30f}, /* above: the usual grid */
    {"1/6/9:sub=nearest", RNE, 0x1p-30f + 0x1.8p-40f, 0x1p-30f + 0x1p-39f},
    {"1/6/9:sub=nearest", RNA, 0x1p-31f, 0x1p-30f},
    {"1/6/9:sub=nearest", RNA, -0x1p-31f, -0x1p-30f},
    {"1/6/9:sub=nearest", RNA, 0x1p-31f - 0x1p-55f, 0.0f},
    {"1/6/9:sub=nearest", RZ, 0x1p-30f - 0x1p-54f, 0.0f},
    {"1/6/9:sub=nearest", RZ, -0x1p-30f + 0x1p-54f, -0.0f},
    {"1/6/9:sub=nearest", RU, 0x1p-149f, 0x1p-30f},
    {"1/6/9:sub=nearest", RU, -0x1p-30f + 0x1p-54f, -0.0f},
    {"1/6/9:sub=nearest", RD, 0x1p-30f - 0x1p-54f, 0.0f},
    {"1/6/9:sub=nearest", RD, -0x1p-149f, -0x1p-30f},
    {"1/6/9:sub=nearest", RODD, 0x1p-149f, 0x1p-30f},
    {"1/6/9:sub=nearest", RODD, -0x1p-31f, -0x1p-30f},
    {"1/6/9:sub=nearest", RODD, 0.0f, 0.0f},
    {"e4m3fnuz:sub=nearest", RNE, -0x1p-8f, 0.0f},
    {"e4m3fnuz:sub=nearest", RNA, -0x1p-8f, -0x1p-7f},
    {"e8m7:sub=nearest", RNE, 0x1p-127f, 0.0f},
    {"e8m7:sub=nearest", RNE, 0x1p-127f + 0x1p-149f, 0x1p-126f},
    {"e3m0:sub=nearest", RNE, 0x1p-3f, 0.0f},
    {"e3m0:sub=nearest", RNE, 0.1875f, 0.25f},
};

/* Lee et al.'s code looks at exponents alone: a NaN is an overflow. */
static const example nan_examples[] = {
    {"fp(4,3,4):nan=ovf", RNE, INFINITY, 30.0f},
    {"fp(4,3,4):nan=ovf", RNE, -INFINITY, -30.0f},
    {"fp(5,2,0):ovf=inf:nan=ovf", RNA, INFINITY, INFINITY},
    {"fp(5,2,0):ovf=inf:nan=ovf", RNA, 122880.0f, INFINITY},
    {"fp(5,2,0):ovf=inf:nan=ovf", RNA, 122879.0f, 114688.0f},
};
/* clang-format on */

static void check_examples(const example *examples, size_t count) {
    for (size_t i = 0; i < count; i++) {
        hu_format format = parsed(examples[i].format);
        float x = examples[i].x, expected = examples[i].expected;
        if (isnan(expected)) expected = float_of(0x7FC00000u | (bits_of(x) & 0x80000000u));
        /* the word that never rounds up */
        float result = hu_format_round(&format, examples[i].rounding, x, UINT32_MAX);
        assert_bits(examples[i].format, x, result, expected);
    }
}

#define CHECK(examples) check_examples(examples, sizeof examples / sizeof examples[0])

static void worked_examples_round_as_computed_by_hand(void **state) {
    (void)state;
    CHECK(worked_examples);
}

static void overflow_follows_mode_and_format(void **state) {
    (void)state;
    CHECK(overflow_examples);
}

static void directed_and_odd_modes_keep_their_sides(void **state) {
    (void)state;
    CHECK(directed_and_odd_examples);
}

static void flushing_comes_after_rounding(void **state) {
    (void)state;
    CHECK(flush_examples);
}

static void below_normal_numbers_the_nearest_is_zero_or_the_smallest(void **state) {
    (void)state;
    CHECK(nearest_examples);
}

/* Stochastically x becomes 2^-30 with the probability x / 2^-30: the mean stays. */
static void stochastic_rounding_to_the_smallest_normal_number(void **state) {
    (void)state;
    hu_format f = parsed("1/6/9:sub=nearest");
    assert_bits("3/8", 3 * 0x1p-33f, hu_format_round(&f, SR, 3 * 0x1p-33f, 0x5FFFFFFFu), 0x1p-30f);
    assert_bits("3/8", 3 * 0x1p-33f, hu_format_round(&f, SR, 3 * 0x1p-33f, 0x60000000u), 0.0f);
    assert_bits("2^-33", 0x1p-63f, hu_format_round(&f, SR, -0x1p-63f, 0), -0x1p-30f);
    assert_bits("less", 0x1p-64f, hu_format_round(&f, SR, -0x1p-64f, 0), -0.0f);
}

static void a_nan_overflows_with_its_sign_where_it_does(void **state) {
    (void)state;
    static const struct {
        const char *format;
        uint32_t beyond;
    } cases[] = {{"fp(4,3,4):nan=ovf", 0x41F00000u}, /* 30 */
                 {"fp(5,2,0):ovf=inf:nan=ovf", 0x7F800000u},
                 {"fp(5,2,0):ovf=nan:nan=ovf", 0x7FC00000u}};
    static const uint32_t nans[] = {0x7F800001u, 0x7FC00000u, 0x7FFFFFFFu};
    CHECK(nan_examples);
    for (size_t i = 0; i < 3; i++)
        for (int mode = 0; mode < HU_ROUND_COUNT; mode++)
            for (size_t k = 0; k < 3; k++) {
                hu_format f = parsed(cases[i].format);
                float plus = float_of(nans[k]), minus = float_of(nans[k] | 0x80000000u);
                assert_bits("NaN", plus, hu_format_round(&f, (hu_rounding)mode, plus, 0),
                            float_of(cases[i].beyond));
                assert_bits("-NaN", minus, hu_format_round(&f, (hu_rounding)mode, minus, 0),
                            float_of(cases[i].beyond | 0x80000000u));
            }
}

static void nan_keeps_sign_and_payload_and_becomes_quiet(void **state) {
    (void)state;
    static const char *const names[] = {"fp32", "e5m2", "e2m1", "e4m3fn", "e4m3fnuz", "e3m0"};
    for (size_t i = 0; i < 6; i++)
        for (int mode = 0; mode < HU_ROUND_COUNT; mode++) {
            hu_format format = parsed(names[i]);
            float x = float_of(0xFF812345u);
            float y = hu_format_round(&format, (hu_rounding)mode, x, 0);
            assert_bits(names[i], x, y, float_of(0xFFC12345u));
        }
}

/* U = word / 2^32 against r, the boundary to the unit. */
static void stochastic_rounding_goes_up_iff_u_is_below_r(void **state) {
    (void)state;
    static const struct {
        const char *format;
        float x, down, up;
        uint32_t first_down; /* smallest word that rounds down: r 2^32 */
    } cases[] = {
        {"e5m2", 1.0625f, 1.0f, 1.25f, 0x40000000u},
        {"e5m2", -1.125f, -1.0f, -1.25f, 0x80000000u},
        {"e5m2", 1.0f + 0x1p-23f, 1.0f, 1.25f, 0x800u},
        {"e5m2", 61440.0f, 57344.0f, INFINITY, 0x80000000u},
        {"e4m3fn:ovf=sat", 464.0f, 448.0f, 448.0f, 0x80000000u},
        {"e4m3fn", 464.0f, 448.0f, NAN, 0x80000000u},
        {"e5m2", 0x1p-18f, 0.0f, 0x1p-16f, 0x40000000u},
        {"e5m2", 0x1.8p-40f, 0.0f, 0x1p-16f, 384},
        {"e5m2", 0x1p-48f, 0.0f, 0x1p-16f, 1},
        {"e5m2", 0x1.8p-48f, 0.0f, 0x1p-16f, 2}, /* 1 < 1.5 */
        {"e5m2", 0x1p-49f, 0.0f, 0x1p-16f, 1},   /* r = 2^-33: 0 < 1/2 */
        {"e3m0", 1.5f, 1.0f, 2.0f, 0x80000000u},
        {"1/6/9/n", 0x1p-31f + 0x1p-41f, 0.0f, 0.0f, 0x40000000u},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hu_format f = parsed(cases[i].format);
        uint32_t first = cases[i].first_down;
        float up = isnan(cases[i].up) ? float_of(0x7FC00000u) : cases[i].up, x = cases[i].x;
        assert_bits(cases[i].format, x, hu_format_round(&f, SR, x, 0), up);
        assert_bits(cases[i].format, x, hu_format_round(&f, SR, x, first - 1), up);
        assert_bits(cases[i].format, x, hu_format_round(&f, SR, x, first), cases[i].down);
        assert_bits(cases[i].format, x, hu_format_round(&f, SR, x, UINT32_MAX), cases[i].down);
    }
    hu_format e5m2 = parsed("e5m2");
    float tiny = nextafterf(0x1p-49f, 0.0f);
    assert_bits("below 2^-33", tiny, hu_format_round(&e5m2, SR, tiny, 0), 0.0f);
    assert_bits("exact", 1.25f, hu_format_round(&e5m2, SR, 1.25f, 0), 1.25f);
}

/* How many of the 2^N words go up at v, kinds a, b and c. Source of the counts: the definition of
 * IEEE P3109, Interim Report 4.0, 4.7.4, worked out by hand. */
static void stated_bits_go_up_as_often_as_p3109_says(void **state) {
    (void)state;
    static const struct {
        float v;
        int ups[3][HU_RANDOM_COUNT]; /* N = 1, 2, 3 */
    } cases[] = {{0.125f, {{0, 0, 0}, {0, 1, 0}, {1, 1, 1}}},
                 {0.25f, {{0, 1, 0}, {1, 1, 1}, {2, 2, 2}}},
                 {0.375f, {{0, 1, 1}, {1, 2, 2}, {3, 3, 3}}},
                 {0.5f, {{1, 1, 1}, {2, 2, 2}, {4, 4, 4}}}};
    hu_format f = parsed("e5m2");
    for (size_t i = 0; i < 4; i++)
        for (uint32_t n = 1; n <= 3; n++)
            for (int kind = 0; kind < HU_RANDOM_COUNT; kind++) {
                hu_rounding mode = hu_rounding_of_bits(n, (hu_random_kind)kind);
                float x = 1.0f + cases[i].v / 4;
                int ups = 0;
                for (uint32_t t = 0; t < 1u << n; t++) {
                    uint32_t word = t << (32 - n);
                    float y = hu_format_round(&f, mode, x, word);
                    ups += y == 1.25f;
                    /* Other bits of the word do not count. */
                    assert_bits("low bits", x, y,
                                hu_format_round(&f, mode, x, word | (UINT32_MAX >> n)));
                }
                assert_int_equal(ups, cases[i].ups[n - 1][kind]);
            }
}

/* Texts of modes are read and printed; what is none is refused. */
static void modes_of_stated_bits_have_names(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= HU_RANDOM_BITS_MOST; n++)
        for (int kind = 0; kind < HU_RANDOM_COUNT; kind++) {
            hu_rounding mode = hu_rounding_of_bits(n, (hu_random_kind)kind), again;
            char text[32];
            snprintf(text, sizeof text, "SR:bits=%u:kind=%c", (unsigned)n, "aBc"[kind]);
            assert_int_equal(hu_rounding_parse(text, &again), HU_OK);
            assert_int_equal(again, mode);
            assert_int_equal(hu_rounding_parse(hu_rounding_name(mode), &again), HU_OK);
            assert_int_equal(again, mode);
            assert_int_equal(hu_rounding_mode(mode), HU_ROUND_STOCHASTIC);
            assert_int_equal(hu_rounding_bits(mode), n);
            assert_int_equal(hu_rounding_kind(mode), kind);
        }
    static const char *const wrong[] = {"sr:bits=0",
                                        "sr:bits=33",
                                        "sr:bits=",
                                        "sr:bits=-1",
                                        "sr:bits=8:kind=d",
                                        "sr:bits=8:",
                                        "sr:bits=8:kind=",
                                        "sr:bits=8x",
                                        "sr:bits= 8",
                                        "sr:bits=8:kind=ab",
                                        "sr:bits=99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hu_rounding mode = HU_ROUND_UP;
        assert_int_equal(hu_rounding_parse(wrong[i], &mode), HU_ERR_PARSE);
        assert_non_null(strstr(hu_last_error(), "expected"));
        assert_int_equal(mode, HU_ROUND_NEAREST_EVEN);
    }
    static const int no_modes[] = {HU_ROUND_COUNT,
                                   0x2100 | HU_ROUND_STOCHASTIC,
                                   0x30800 | HU_ROUND_STOCHASTIC,
                                   0x10000 | HU_ROUND_STOCHASTIC,
                                   0x0800 | HU_ROUND_UP,
                                   0x1000000 | HU_ROUND_STOCHASTIC};
    for (size_t i = 0; i < sizeof no_modes / sizeof *no_modes; i++) {
        assert_int_equal(hu_rounding_mode((hu_rounding)no_modes[i]), HU_ROUND_COUNT);
        assert_string_equal(hu_rounding_name((hu_rounding)no_modes[i]), "?");
    }
}

/* The number as written is rounded, not the float32 next to it. */
static void texts_are_rounded_once(void **state) {
    (void)state;
    static const struct {
        const char *format;
        hu_rounding rounding;
        const char *text;
        float expected;
    } cases[] = {
        {"fp16", RZ, "0.99999999999", 0.99951171875f},
        {"fp16", RU, "1.00000000000001", 1.0009765625f},
        {"fp16", RU, "1e-50", 0x1p-24f},
        {"fp16", RD, "-1e-50", -0x1p-24f},
        {"fp16", RODD, "1e-999999999999999999999", 0x1p-24f},
        {"fp16", RNE, "-1e-50", -0.0f},
        {"fp16", RZ, "1e39", 65504.0f},
        {"fp16", RZ, "-1e99999999999999999999", -65504.0f},
        {"fp16", RNE, "1e39", INFINITY},
        {"fp16", RZ, "inf", INFINITY},
        {"fp16", RNE, "65519.9999", 65504.0f},
        {"fp16", RNE, "65519.99999999999999999999999999999999999999999999", 65504.0f},
        {"fp16", RNE, "65520", INFINITY},
        {"e4m3fn", RNE, "431.99999999999994", 416.0f},
        {"e4m3fn", RNE, "432", 448.0f},
        {"e4m3fn", RNE, "464", 448.0f},
        {"e4m3fn", RNE, "464.00000001", NAN},
        {"e4m3fn", RNE, "-0x1.d00000000000000000001p8", -NAN},
        {"fp32", RU, "1.00000000000001", 1.0f + 0x1p-23f},
        {"fp32", RNE, "0x1.000001p0", 1.0f},
        {"fp32", RNE, "0x1.00000100000000000000000000000001p0", 1.0f + 0x1p-23f},
        {"fp32", RNE, "7.006492321624085354618e-46", 0.0f}, /* below 2^-150 */
        {"fp32", RNE, "7.006492321624085354619e-46", 0x1p-149f},
        {"fp32", RD, "3.4028236e38", 0x1.fffffep127f},
        {"e3m0", RNE, "1.4999999999999999999999", 1.0f},
        {"e2m1", RNE, "000000000000.2500000000000000000000001", 0.5f},
        {"e2m1", RNE, "+.25", 0.0f},
        {"e2m1", RNE, "25E-2", 0.0f},
        {"e4m3fnuz", RZ, "-1e-50", 0.0f},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hu_format f = parsed(cases[i].format);
        float expected = cases[i].expected, y;
        if (isnan(expected))
            expected = float_of(0x7FC00000u | (cases[i].text[0] == '-' ? 0x80000000u : 0));
        assert_int_equal(hu_format_round_text(&f, cases[i].rounding, cases[i].text, 0, &y), HU_OK);
        if (bits_of(y) != bits_of(expected))
            fail_msg("%s %s '%s': found %a, expected %a", cases[i].format,
                     hu_rounding_name(cases[i].rounding), cases[i].text, (double)y,
                     (double)expected);
    }
    static const char *const none[] = {"",    "1e",   "e1",  "0x",   ".",     "1.2.3",       "1,5",
                                       "-",   "0x1p", "1 2", "1e+",  "infin", "nano",        "0xg",
                                       "--1", "1f",   "0b1", "1e5x", "+-1",   "\xef\xbc\x91"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        hu_format f = parsed("fp16");
        float y;
        assert_int_equal(hu_format_round_text(&f, RNE, none[i], 0, &y), HU_ERR_PARSE);
    }
}

/* r between two draws: 1 + 2^-10 (2^31 + 1/2) 2^-32 lies beyond what float32 tells apart. */
static void texts_are_drawn_by_their_whole_fraction(void **state) {
    (void)state;
    hu_format f = parsed("fp16");
    static const char text[] = "0x1.00200000002p0";
    float y;
    assert_int_equal(hu_format_round_text(&f, SR, text, 0x80000000u, &y), HU_OK);
    assert_bits("above the draw", 1.0f, y, 1.0f + 0x1p-10f);
    assert_int_equal(hu_format_round_text(&f, SR, text, 0x80000001u, &y), HU_OK);
    assert_bits("below the draw", 1.0f, y, 1.0f);
    assert_int_equal(hu_format_round_text(&f, SR, "0x1.0000000000100000000001p0", 0, &y), HU_OK);
    assert_bits("r is below 2^-33", 1.0f, y, 1.0f);
    assert_int_equal(hu_format_round_text(&f, SR, "0x1.000000000020p0", 0, &y), HU_OK);
    assert_bits("r is 2^-33", 1.0f, y, 1.0f + 0x1p-10f);
}

/* Value of a magnitude code on the scale that goes on beyond the largest finite code; exact. */
static double value_on_scale(const hu_format *format, uint32_t code) {
    int m = format->man_bits, field = (int)(code >> m);
    double fraction = ldexp((double)(code & ((1u << m) - 1)), -m);
    return field == 0 ? ldexp(fraction, 1 - format->bias)
                      : ldexp(1 + fraction, field - format->bias);
}

static float expected_beyond(const hu_format *format) {
    if (format->overflow == HU_OVERFLOW_INF) return INFINITY;
    if (format->overflow == HU_OVERFLOW_NAN) return float_of(0x7FC00000u);
    return (float)hu_format_limits_of(format).max_finite;
}

/* What magnitude code n of the unbounded scale is in the format. */
static float value_in_format(const hu_format *format, uint32_t code) {
    if (code > hu_format_limits_of(format).code_max) return expected_beyond(format);
    if (!format->subnormals && code < 1u << format->man_bits) return 0.0f;
    return (float)value_on_scale(format, code);
}

static float negated(const hu_format *format, float x) {
    if (format->specials == HU_SPECIALS_FNUZ && x == 0.0f) return 0.0f;
    return float_of(bits_of(x) ^ 0x80000000u);
}

static void check_both_signs(const hu_format *f, hu_rounding mode, float x, float expected) {
    assert_bits("midpoint", x, hu_format_round(f, mode, x, 0), expected);
    assert_bits("midpoint", -x, hu_format_round(f, mode, -x, 0), negated(f, expected));
}

/* Midpoint of codes n and n+1 and its two neighbours in float32. The significand of code n is odd
 * iff n is odd, except with no mantissa bits, where it is 1 for every normal number. */
static void check_midpoint(const hu_format *f, uint32_t n) {
    float middle = (float)((value_on_scale(f, n) + value_on_scale(f, n + 1)) / 2);
    float below = value_in_format(f, n), above = value_in_format(f, n + 1);
    int is_odd = f->man_bits == 0 ? n > 0 : (n & 1) != 0;
    check_both_signs(f, RNE, middle, is_odd ? above : below);
    check_both_signs(f, RNA, middle, above);
    for (int mode = RNE; mode <= (int)RNA; mode++) {
        check_both_signs(f, (hu_rounding)mode, nextafterf(middle, 0.0f), below);
        check_both_signs(f, (hu_rounding)mode, nextafterf(middle, INFINITY), above);
    }
}

static void check_codes(const hu_format *f) {
    hu_format_limits l = hu_format_limits_of(f);
    for (uint32_t code = 0; code < l.codes; code++) {
        float x, y;
        uint32_t magnitude = code & (uint32_t)(l.codes / 2 - 1), again;
        assert_int_equal(hu_format_decode(f, code, &x), HU_OK);
        for (int mode = 0; mode < HU_ROUND_COUNT; mode++) {
            y = hu_format_round(f, (hu_rounding)mode, x, 0);
            assert_bits("member", x, y, x);
        }
        assert_int_equal(hu_format_encode(f, x, &again), HU_OK);
        int is_flushed = !f->subnormals && magnitude > 0 && magnitude < 1u << f->man_bits;
        if (!isnan(x) && !is_flushed) assert_int_equal(again, code);
        if (is_flushed) assert_true(x == 0.0f);
        if (!isnan(x) && !isinf(x) && !is_flushed)
            assert_true(fabs((double)x) == value_on_scale(f, magnitude));
    }
}

/* Calls check for every valid format of at most 8 bits, each kind of specials, with and without
 * subnormals, each overflow rule that lets its members through (no infinity under sat). */
static unsigned for_every_small_format(void (*check)(const hu_format *)) {
    unsigned seen = 0;
    for (unsigned i = 0; i < 8u * 8 * 4 * 2 * 3; i++) {
        hu_format f = {.exp_bits = (uint8_t)(1 + i % 8),
                       .man_bits = (uint8_t)(i / 8 % 8),
                       .specials = (uint8_t)(i / 64 % 4),
                       .subnormals = (uint8_t)(i / 256 % 2),
                       .overflow = (uint8_t)(i / 512)};
        f.bias = (1 << (f.exp_bits - 1)) - 1;
        if (hu_format_check(&f) != HU_OK || hu_format_bits(&f) > 8) continue;
        seen++;
        check(&f);
    }
    return seen;
}

static void check_codes_if_closed(const hu_format *f) {
    if (f->specials != HU_SPECIALS_IEEE || f->overflow == HU_OVERFLOW_INF) check_codes(f);
}

static void check_all_midpoints(const hu_format *f) {
    uint32_t code_max = hu_format_limits_of(f).code_max;
    for (uint32_t n = 0; n <= code_max; n++) {
        int is_beyond_float = value_on_scale(f, n + 1) > 0x1.fffffep127;
        if (!is_beyond_float) check_midpoint(f, n);
    }
}

/* Order of results follows the order of a sweep over all sign and exponent patterns. */
static void check_monotone_and_idempotent(const hu_format *f) {
    for (int mode = 0; mode < HU_ROUND_COUNT; mode++) {
        float before = -INFINITY;
        for (int64_t step = -0x7F80; step <= 0x7F80; step += 3) {
            uint32_t magnitude = (uint32_t)(step < 0 ? -step : step) << 16;
            float x = float_of(magnitude | (step < 0 ? 0x80000000u : 0));
            float y = hu_format_round(f, (hu_rounding)mode, x, 0x80000000u);
            assert_bits("twice", x, hu_format_round(f, (hu_rounding)mode, y, 0x80000000u), y);
            if (isnan(y)) continue;
            assert_true(y >= before);
            before = y;
        }
    }
}

static void check_odd(const hu_format *f) {
    static const hu_rounding odd_modes[] = {RNE, RNA, RZ, RODD, SR};
    for (uint32_t bits = 0; bits <= 0x7F800000u; bits += 0x12345u)
        for (size_t i = 0; i < 5; i++) {
            float y = hu_format_round(f, odd_modes[i], float_of(bits), 0x40000000u);
            float z = hu_format_round(f, odd_modes[i], float_of(bits | 0x80000000u), 0x40000000u);
            assert_bits("odd", float_of(bits), z, negated(f, y));
            /* up and down mirror each other */
            y = hu_format_round(f, RU, float_of(bits), 0);
            z = hu_format_round(f, RD, float_of(bits | 0x80000000u), 0);
            assert_bits("mirror", float_of(bits), z, negated(f, y));
        }
}

static void members_of_every_small_format_stay(void **state) {
    (void)state;
    assert_true(for_every_small_format(check_codes_if_closed) > 500);
}

static void every_midpoint_of_every_small_format_goes_to_the_rule(void **state) {
    (void)state;
    for_every_small_format(check_all_midpoints);
}

static void rounding_is_monotone_odd_and_idempotent(void **state) {
    (void)state;
    static const char *const names[] = {"fp16", "bf16",     "e5m2",      "e4m3fn:ovf=sat",
                                        "e2m1", "1/6/9/n",  "fp(4,3,4)", "e3m0",
                                        "e2m5", "e4m3fnuz", "e8m23",     "e5m2fnuz:ovf=inf"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        hu_format format = parsed(names[i]);
        check_monotone_and_idempotent(&format);
        check_odd(&format);
    }
}

static void encode_rejects_what_is_not_in_the_format(void **state) {
    (void)state;
    static const struct {
        const char *format;
        float x;
    } cases[] = {{"e5m2", 1.1f},      {"e5m2", 65536.0f},     {"e5m2", 0x1p-17f},
                 {"e5m2", 1e38f},     {"e5m2", 0x1p-149f},    {"e2m1", INFINITY},
                 {"e2m1", NAN},       {"e4m3fn", INFINITY},   {"e4m3fn", 480.0f},
                 {"e3m0", NAN},       {"e4m3fnuz", INFINITY}, {"1/6/9/n", 0x1p-31f},
                 {"fp(4,3,4)", 31.0f}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hu_format format = parsed(cases[i].format);
        uint32_t code = 77;
        assert_int_equal(hu_format_encode(&format, cases[i].x, &code), HU_ERR_FORMAT);
        assert_int_equal(code, 0);
    }
}

static void special_values_have_their_codes(void **state) {
    (void)state;
    static const struct {
        const char *format;
        float x;
        uint32_t code;
    } cases[] = {{"fp16", 1.0f, 0x3C00},      {"fp16", -2.0f, 0xC000},
                 {"fp16", INFINITY, 0x7C00},  {"fp16", -INFINITY, 0xFC00},
                 {"fp16", 0x1p-24f, 1},       {"fp16", -0.0f, 0x8000},
                 {"e4m3fn", 448.0f, 0x7E},    {"e3m0", INFINITY, 7},
                 {"e4m3fnuz", -0.0f, 0},      {"e2m1", -6.0f, 0xF},
                 {"fp32", 0x1p-149f, 1},      {"fp32", 0x1.a5p-130f, 0xD2800},
                 {"fp32", 1.0f, 0x3F800000u}, {"e5m2fnuz", 57344.0f, 0x7F},
                 {"bf16", 1.0f, 0x3F80},      {"fp32", -0x1.fffffep127f, 0xFF7FFFFFu}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hu_format format = parsed(cases[i].format);
        uint32_t code;
        assert_int_equal(hu_format_encode(&format, cases[i].x, &code), HU_OK);
        assert_int_equal(code, cases[i].code);
        float back;
        assert_int_equal(hu_format_decode(&format, code, &back), HU_OK);
        assert_true(back == cases[i].x);
    }
}

static void nan_codes_have_the_largest_fraction(void **state) {
    (void)state;
    static const struct {
        const char *format;
        uint32_t positive, negative;
    } cases[] = {{"fp16", 0x7FFF, 0xFFFF}, {"e4m3fn", 0x7F, 0xFF}, {"e4m3fnuz", 0x80, 0x80}};
    for (size_t i = 0; i < 3; i++) {
        hu_format format = parsed(cases[i].format);
        uint32_t code;
        float x;
        assert_int_equal(hu_format_encode(&format, float_of(0x7FC00001u), &code), HU_OK);
        assert_int_equal(code, cases[i].positive);
        assert_int_equal(hu_format_encode(&format, float_of(0xFF800001u), &code), HU_OK);
        assert_int_equal(code, cases[i].negative);
        assert_int_equal(hu_format_decode(&format, cases[i].positive, &x), HU_OK);
        assert_int_equal(bits_of(x), 0x7FC00000u);
        assert_int_equal(
            hu_format_decode(&format, (uint32_t)hu_format_limits_of(&format).codes, &x),
            HU_ERR_ARGUMENT);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_examples_round_as_computed_by_hand),
        cmocka_unit_test(overflow_follows_mode_and_format),
        cmocka_unit_test(directed_and_odd_modes_keep_their_sides),
        cmocka_unit_test(below_normal_numbers_the_nearest_is_zero_or_the_smallest),
        cmocka_unit_test(stochastic_rounding_to_the_smallest_normal_number),
        cmocka_unit_test(a_nan_overflows_with_its_sign_where_it_does),
        cmocka_unit_test(flushing_comes_after_rounding),
        cmocka_unit_test(nan_keeps_sign_and_payload_and_becomes_quiet),
        cmocka_unit_test(stochastic_rounding_goes_up_iff_u_is_below_r),
        cmocka_unit_test(stated_bits_go_up_as_often_as_p3109_says),
        cmocka_unit_test(modes_of_stated_bits_have_names),
        cmocka_unit_test(texts_are_rounded_once),
        cmocka_unit_test(texts_are_drawn_by_their_whole_fraction),
        cmocka_unit_test(members_of_every_small_format_stay),
        cmocka_unit_test(every_midpoint_of_every_small_format_goes_to_the_rule),
        cmocka_unit_test(rounding_is_monotone_odd_and_idempotent),
        cmocka_unit_test(encode_rejects_what_is_not_in_the_format),
        cmocka_unit_test(special_values_have_their_codes),
        cmocka_unit_test(nan_codes_have_the_largest_fraction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
