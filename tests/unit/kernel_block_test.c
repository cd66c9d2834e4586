/* Block formats: kernels against the integer reference bit for bit, packed and unpacked; tensor
 * scales against rationals written out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/rng.h"
#include "kernel/block/block.h"
#include "reference/block.h"

enum { MOST = 4096, GUARD = 32 };
static const hu_random_key key = {3, 5, 7};

/* Every block format, those with another power of their scale after the usual ones. */
static const hu_block_format *format_at(size_t i) {
    size_t usual = 0;
    while (hu_block_format_at(usual)) usual++;
    if (i < usual) return hu_block_format_at(i);
    for (int power = 1; power < HU_BLOCK_POWERS; power++)
        for (size_t f = 0; f < usual; f++) {
            const hu_block_format *format = hu_block_format_with(f, (hu_block_power)power);
            if (format && i-- == usual) return format;
        }
    return NULL;
}

typedef struct expected {
    float y[MOST];
    uint8_t codes[MOST], scales[MOST];
} expected;

/* All blocks of a row by the reference; returns the number of blocks. */
static size_t by_reference(const hu_blocker *b, hu_rounding rounding, float tensor_scale,
                           const float *x, uint64_t index, expected *e) {
    uint32_t words[HU_BLOCK_MOST];
    size_t blocks = 0;
    for (int64_t line = 0; line < b->row_elements; line += b->line)
        for (int64_t at = 0; at < b->line; at += b->format.length, blocks++) {
            int64_t n = b->line - at < b->format.length ? b->line - at : b->format.length;
            int64_t first = line + at;
            for (int64_t i = 0; i < n; i++)
                words[i] = hu_random_word(&key, index + (uint64_t)(first + i));
            hu_block_reference(&b->format, rounding, tensor_scale, (size_t)n, x + first, words,
                               e->y + first, e->codes + first, &e->scales[blocks]);
        }
    return blocks;
}

static void expect_bits(const hu_blocker *b, const float *x, const float *y, const float *wanted,
                        size_t n) {
    for (size_t i = 0; i < n; i++)
        if (hu_f32_bits(y[i]) != hu_f32_bits(wanted[i]))
            fail_msg("%s %s line %lld, element %zu: input %a gives %a, expected %a", b->format.name,
                     hu_rounding_name(b->rounder.rounding), (long long)b->line, i, (double)x[i],
                     (double)y[i], (double)wanted[i]);
}

/* Element codes from a dense stream, the least significant bit first. */
static uint8_t code_at(const uint8_t *bytes, size_t i, uint32_t width) {
    uint32_t code = 0;
    for (uint32_t k = 0; k < width; k++) {
        size_t bit = i * width + k;
        code |= (uint32_t)(bytes[bit / 8] >> bit % 8 & 1) << k;
    }
    return (uint8_t)code;
}

static void check_bytes(const hu_blocker *b, const uint8_t *row, const expected *e, size_t blocks) {
    uint32_t width = hu_format_bits(&b->format.element);
    size_t n = (size_t)b->row_elements, code_bytes = (n * width + 7) / 8;
    assert_int_equal(b->row_bytes, code_bytes + blocks);
    for (size_t i = 0; i < n; i++)
        if (code_at(row, i, width) != e->codes[i])
            fail_msg("%s, element %zu: code %02x, expected %02x", b->format.name, i,
                     code_at(row, i, width), e->codes[i]);
    assert_memory_equal(row + code_bytes, e->scales, blocks);
}

static void check_row_isa(const hu_block_format *format, hu_rounding rounding, int64_t n,
                          int64_t line, const float *x, float tensor_scale, hu_isa isa) {
    static expected e;
    static float y[MOST];
    static uint8_t row[5 * MOST + GUARD];
    hu_blocker b;
    hu_round_counts rounded, packed;
    const uint64_t index = 1000003;
    assert_int_equal(hu_blocker_init_isa(&b, format, rounding, n, line, isa), HU_OK);
    size_t blocks = by_reference(&b, rounding, tensor_scale, x, index, &e);
    hu_round_counts_clear(&rounded);
    hu_round_counts_clear(&packed);
    hu_blocker_round(&b, tensor_scale, 1, x, y, &key, index, &rounded);
    expect_bits(&b, x, y, e.y, (size_t)n);
    memset(row, 0xA5, sizeof row);
    hu_blocker_pack(&b, tensor_scale, 1, x, row, &key, index, &packed);
    for (int i = 0; i < GUARD; i++) assert_int_equal(row[b.row_bytes + (size_t)i], 0xA5);
    check_bytes(&b, row, &e, blocks);
    hu_blocker_unpack(&b, tensor_scale, row, 0, (size_t)n, y);
    expect_bits(&b, x, y, e.y, (size_t)n);
    for (int64_t first = 8; first < n; first += 8 * 13) {
        size_t count = (size_t)(n - first < 37 ? n - first : 37);
        hu_blocker_unpack(&b, tensor_scale, row, first, count, y);
        expect_bits(&b, x + first, y, e.y + first, count);
    }
    assert_memory_equal(&rounded, &packed, sizeof packed);
    assert_int_equal(rounded.elements, n);
}

static void check_row(const hu_block_format *format, hu_rounding rounding, int64_t n, int64_t line,
                      const float *x) {
    hu_isa best = hu_cpu_isa_native();
    float tensor_scale = hu_block_tensor_scale(format, hu_top_f32((size_t)n, x));
    for (int isa = 0; isa <= (int)best; isa++)
        check_row_isa(format, rounding, n, line, x, tensor_scale, (hu_isa)isa);
}

/* Numbers of widely spread size, some zeros. */
static void fill(float *x, size_t n, int spread, uint64_t seed) {
    hu_random_key own = {seed, 1, 2};
    for (size_t i = 0; i < n; i++) {
        int exponent = (int)(hu_random_word(&own, 2 * i) % (uint32_t)(2 * spread + 1)) - spread;
        float unit = hu_random_normal(&own, 7777 + i);
        x[i] = hu_random_word(&own, 2 * i + 1) % 9 == 0 ? 0.0f : ldexpf(unit, exponent);
    }
}

/* Every pattern of the upper 16 bits that is not above the block's largest magnitude. */
static void test_all_short_inputs(void **state) {
    static const uint16_t tops[] = {0x0000, 0x0001, 0x0060, 0x0081, 0x0F7F, 0x3F80, 0x3FC0, 0x3FE1,
                                    0x3FFF, 0x40E0, 0x43E1, 0x477F, 0x7EFF, 0x7F00, 0x7F60, 0x7F7F};
    (void)state;
    float x[MOST];
    for (size_t f = 0; format_at(f); f++)
        for (size_t t = 0; t < sizeof tops / sizeof *tops; t++) {
            hu_rounding rounding = (hu_rounding)((f + t) % HU_ROUND_COUNT);
            int length = format_at(f)->length;
            uint32_t next = 0, end = 2 * ((uint32_t)tops[t] + 1);
            while (next < end) {
                for (int i = 0; i < MOST; i++) {
                    uint32_t u = next / 2 | (next % 2) << 15;
                    if (i % length == 0 || next >= end) u = tops[t] | (uint32_t)(i & 1) << 15;
                    if (i % length != 0) next++;
                    x[i] = hu_f32_of_bits(u << 16 | (u & 1 ? 0xFFFF : 0));
                    if (i % length == 0) x[i] = hu_f32_of_bits(u << 16 | 0xFFFF);
                }
                check_row(format_at(f), rounding, MOST, MOST, x);
            }
        }
}

static void test_every_mode_and_size(void **state) {
    static const int spreads[] = {2, 9, 30, 140};
    (void)state;
    float x[MOST];
    for (size_t f = 0; format_at(f); f++)
        for (int mode = 0; mode < HU_ROUND_COUNT; mode++)
            for (size_t s = 0; s < sizeof spreads / sizeof *spreads; s++) {
                fill(x, MOST, spreads[s], 17 * f + s);
                for (int i = 0; i < MOST; i++)
                    if (!isfinite(x[i])) x[i] = 0x1p127f;
                check_row(format_at(f), (hu_rounding)mode, MOST, MOST, x);
            }
}

/* Tails of every length, lines shorter and longer than a block, pieces that end inside blocks. */
static void test_lines(void **state) {
    (void)state;
    float x[MOST];
    fill(x, MOST, 6, 99);
    for (size_t f = 0; format_at(f); f++)
        for (int64_t line = 1; line <= 70; line++) {
            int64_t lines = line % 4 == 0 ? MOST / line : 5;
            check_row(format_at(f), line % 2 ? HU_ROUND_NEAREST_EVEN : HU_ROUND_STOCHASTIC,
                      lines * line, line, x);
        }
    for (size_t f = 0; format_at(f); f++)
        check_row(format_at(f), HU_ROUND_NEAREST_EVEN, 3 * 1029, 1029, x);
}

static void test_blocks_without_numbers(void **state) {
    (void)state;
    for (size_t f = 0; format_at(f); f++)
        for (size_t special = 0; special < 4; special++) {
            const hu_block_format *format = format_at(f);
            float x[96], y[96];
            hu_blocker b;
            hu_round_counts counts;
            fill(x, 96, 3, 5);
            for (int i = 32; i < 64; i++) x[i] = i % 2 ? 0.0f : -0.0f;
            if (special == 1) x[70] = NAN;
            if (special == 2) x[95] = -INFINITY;
            if (special == 3) memset(x, 0, sizeof x);
            check_row(format, HU_ROUND_UP, 96, 96, x);
            assert_int_equal(hu_blocker_init(&b, format, HU_ROUND_NEAREST_EVEN, 96, 96), HU_OK);
            float scale = hu_block_tensor_scale(format, hu_top_f32(96, x));
            hu_round_counts_clear(&counts);
            hu_blocker_round(&b, scale, 1, x, y, &key, 0, &counts);
            int from = special == 1 ? 70 / format->length * format->length : 96 - format->length;
            uint64_t nans = special == 1 || special == 2 ? (uint64_t)format->length : 0;
            assert_int_equal(counts.nan, nans);
            assert_int_equal(counts.elements, 96);
            for (int i = 0; i < 96; i++) {
                if (nans && i >= from && i < from + format->length)
                    assert_int_equal(hu_f32_bits(y[i]), HU_F32_NAN);
                else
                    assert_true(isfinite(y[i]));
            }
            if (special == 3) assert_int_equal(counts.max_exponent, HU_NO_EXPONENT);
            if (special == 3) assert_int_equal(counts.zero, 96);
        }
}

/* k of the scale for a largest magnitude a, in double, which has room for all of it. */
static int power_of(const hu_block_format *format, float a) {
    hu_format_limits limits = hu_format_limits_of(&format->element);
    int m = format->element.man_bits, k = ilogbf(a) - limits.emax;
    double step = ldexp(1, ilogbf(a) - m);
    if (format->power == HU_BLOCK_CEIL) k = (int)ceil(log2((double)a)) - limits.emax;
    if (format->power == HU_BLOCK_RCEIL) k = (int)ceil(log2((double)a / limits.max_finite));
    if (format->power == HU_BLOCK_EVEN) k = ilogb(round((double)a / step) * step) - limits.emax;
    return k < -127 ? -127 : k > 127 - limits.emax ? 127 - limits.emax : k;
}

/* The counts of an MX block are those of the plain kernel for the format with a moved bias. */
static void test_counts(void **state) {
    (void)state;
    float x[MOST], y[MOST];
    for (size_t f = 0; format_at(f); f++) {
        const hu_block_format *format = format_at(f);
        if (hu_block_needs_tensor_scale(format)) continue;
        for (int spread = 1; spread < 60; spread += 9) {
            hu_round_counts wanted, counts;
            hu_blocker b;
            fill(x, MOST, spread, (uint64_t)spread);
            hu_round_counts_clear(&wanted);
            hu_round_counts_clear(&counts);
            for (int i = 0; i < MOST; i += format->length) {
                uint32_t top = hu_top_f32((size_t)format->length, x + i);
                int k = power_of(format, hu_f32_of_bits(top));
                hu_format scaled = hu_format_scaled(&format->element, k);
                assert_int_equal(hu_round_f32((size_t)format->length, x + i, y, &scaled,
                                              HU_ROUND_NEAREST_EVEN, NULL, 0, &wanted),
                                 HU_OK);
            }
            assert_int_equal(hu_blocker_init(&b, format, HU_ROUND_NEAREST_EVEN, MOST, MOST), HU_OK);
            hu_blocker_round(&b, 1.0f, 1, x, y, &key, 0, &counts);
            wanted.min_exponent = HU_NO_EXPONENT;
            assert_memory_equal(&counts, &wanted, sizeof counts);
        }
    }
}

/* Blocks far below the tensor's largest number have scale 0. */
static void test_vanished_blocks(void **state) {
    (void)state;
    const hu_block_format *format = hu_block_format_find("NVFP4");
    float x[32], y[32];
    hu_blocker b;
    hu_round_counts counts;
    for (int i = 0; i < 16; i++) x[i] = 16.0f;
    for (int i = 16; i < 32; i++) x[i] = (i % 2 ? 1e-8f : -1e-8f) * (float)(i > 18);
    float scale = hu_block_tensor_scale(format, hu_top_f32(32, x));
    assert_true(scale == 16.0f / 2688.0f);
    for (int mode = 0; mode < HU_ROUND_COUNT; mode++) {
        check_row(format, (hu_rounding)mode, 32, 32, x);
        assert_int_equal(hu_blocker_init(&b, format, (hu_rounding)mode, 32, 32), HU_OK);
        hu_round_counts_clear(&counts);
        hu_blocker_round(&b, scale, 1, x, y, &key, 0, &counts);
        assert_int_equal(counts.underflow, 13);
        for (int i = 16; i < 32; i++) {
            assert_true(y[i] == 0.0f);
            assert_int_equal(signbit(y[i]) != 0, signbit(x[i]) != 0);
        }
    }
}

/* By hand: OCP MX 1.0, section 6.3, and the rule of notes A.3. */
static void test_known_blocks(void **state) {
    (void)state;
    static const struct {
        const char *name;
        float x[4], y[4];
        uint8_t codes[4], scale;
    } rows[] = {
        {"mxfp4", {7, 1, -0.25f, 0.3f}, {6, 1, -0.0f, 0.5f}, {7, 2, 8, 1}, 127},
        {"mxfp4", {14, 5, 3, 1}, {12, 4, 3, 1}, {7, 4, 3, 1}, 128},
        {"mxfp8", {500, 464, 1, 0x1p-10f}, {448, 448, 1, 0}, {0x7E, 0x7E, 0x38, 0}, 127},
        {"mxint8",
         {1.99f, -1, 1.0f / 128, -0.001f},
         {127.0f / 64, -1, 0, 0},
         {127, 0xC0, 0, 0},
         127},
        {"mxint8", {-127.0f, 3, 1.5f, 0.5f}, {-127, 3, 2, 0}, {0x81, 3, 2, 0}, 133},
        {"mxfp8:scale=floor", {957, 448, 1, 0}, {896, 448, 1, 0}, {0x7E, 0x76, 0x30, 0}, 128},
        {"mxfp8:scale=rceil", {957, 448, 1, 0}, {960, 448, 1, 0}, {0x77, 0x6E, 0x28, 0}, 129},
        {"mxfp8:scale=rceil", {448, 1, 1, 0}, {448, 1, 1, 0}, {0x7E, 0x38, 0x38, 0}, 127},
        {"mxfp8:scale=ceil", {448, 1, 1, 0}, {448, 1, 1, 0}, {0x76, 0x30, 0x30, 0}, 128},
        {"mxfp4:scale=even", {7, 1, 3, 0}, {8, 1, 3, 0}, {6, 1, 3, 0}, 128},
        {"mxfp4:scale=even", {6.99f, 1, 3, 0}, {6, 1, 3, 0}, {7, 2, 5, 0}, 127},
        {"nvfp4", {2688, 448, -6, 200}, {2688, 448, -0.0f, 224}, {7, 2, 8, 1}, 0x7E},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const hu_block_format *format = hu_block_format_find(rows[r].name);
        float y[4];
        uint8_t codes[4], scale;
        float tensor = hu_block_tensor_scale(format, hu_top_f32(4, rows[r].x));
        hu_block_reference(format, HU_ROUND_NEAREST_EVEN, tensor, 4, rows[r].x, NULL, y, codes,
                           &scale);
        for (int i = 0; i < 4; i++)
            if (hu_f32_bits(y[i]) != hu_f32_bits(rows[r].y[i]) || codes[i] != rows[r].codes[i])
                fail_msg("row %zu element %d: %g code %02x, expected %g code %02x", r, i,
                         (double)y[i], codes[i], (double)rows[r].y[i], rows[r].codes[i]);
        assert_int_equal(scale, rows[r].scale);
        check_row(format, HU_ROUND_NEAREST_EVEN, 4, 4, rows[r].x);
    }
}

/* RCEIL by float32 operations as torchao and TransformerEngine have it: y = a (1 / largest), and
 * the power above y unless y is one. Every significand, for the elements that these know. */
static void test_rceil_is_that_of_others(void **state) {
    static const char *const names[] = {"mxfp8:scale=rceil", "mxfp8e5m2:scale=rceil",
                                        "mxfp6e3m2:scale=rceil", "mxfp6e2m3:scale=rceil",
                                        "mxfp4:scale=rceil"};
    (void)state;
    for (size_t f = 0; f < sizeof names / sizeof *names; f++) {
        const hu_block_format *format = hu_block_format_find(names[f]);
        float inverse = 1.0f / (float)hu_format_limits_of(&format->element).max_finite;
        for (uint32_t fraction = 0; fraction < 1u << 23; fraction += fraction % 64 == 5 ? 59 : 1) {
            uint32_t bits = 130u << 23 | fraction, u = hu_f32_bits(hu_f32_of_bits(bits) * inverse);
            int k = (int)(u >> 23) - 127 + ((u & 0x7FFFFFu) != 0);
            uint8_t scale, code;
            float x = hu_f32_of_bits(bits), y;
            hu_block_reference(format, HU_ROUND_NEAREST_EVEN, 1, 1, &x, NULL, &y, &code, &scale);
            if (scale != k + 127)
                fail_msg("%s %a: %d, expected %d", names[f], (double)x, scale, k + 127);
        }
    }
}

static int exponent_for(const char *text, hu_scale_rule rule, float top) {
    hu_format format;
    assert_int_equal(hu_format_parse(text, &format), HU_OK);
    int32_t k = hu_scale_exponent(&format, rule, hu_f32_bits(top));
    hu_format scaled = hu_format_scaled(&format, k);
    assert_int_equal(hu_format_check(&scaled), HU_OK);
    return k;
}

static void test_tensor_scales(void **state) {
    (void)state;
    assert_int_equal(exponent_for("e4m3fn", HU_SCALE_CURRENT, 448), 0);
    assert_int_equal(exponent_for("e4m3fn", HU_SCALE_CURRENT, nextafterf(448, 1e9f)), 1);
    assert_int_equal(exponent_for("e4m3fn", HU_SCALE_CURRENT, 224), -1);
    assert_int_equal(exponent_for("e4m3fn", HU_SCALE_DELAYED, 225), 0);
    assert_int_equal(exponent_for("e4m3fn", HU_SCALE_CURRENT, 0), 0);
    assert_int_equal(exponent_for("e5m2", HU_SCALE_CURRENT, 1), -15);
    assert_int_equal(exponent_for("e5m2", HU_SCALE_NONE, 1), 0);
    /* b = floor(16 - log2 M): 16 at 1, 15 just above, 116 at and below 2^-100. */
    assert_int_equal(exponent_for("fp(5,2,0)", HU_SCALE_BIAS, 1), -16);
    assert_int_equal(exponent_for("fp(5,2,0)", HU_SCALE_BIAS, 1.0000001f), -15);
    assert_int_equal(exponent_for("fp(5,2,3)", HU_SCALE_BIAS, 1), -13);
    assert_int_equal(exponent_for("fp(4,3,4)", HU_SCALE_BIAS, 0x1p-100f), 4 - 108);
    assert_int_equal(exponent_for("fp(4,3,4)", HU_SCALE_BIAS, 0), 4 - 108);
    /* The ends of binary32. */
    assert_int_equal(exponent_for("e4m3fn", HU_SCALE_CURRENT, 0x1.fffffep127f), 119);
    assert_int_equal(exponent_for("e4m3fn", HU_SCALE_CURRENT, 0x1p-149f), -140);
    assert_int_equal(exponent_for("bf16", HU_SCALE_CURRENT, 1e-30f), -16);
}

/* Every k: the plain kernels with a moved bias round x as x / 2^k, times 2^k. */
static void test_scaled_rounding(void **state) {
    (void)state;
    hu_format format;
    assert_int_equal(hu_format_parse("e4m3fn:ovf=sat", &format), HU_OK);
    for (int k = -140; k <= 119; k++) {
        hu_format scaled = hu_format_scaled(&format, k);
        float x[512], y[512];
        fill(x, 512, 10, (uint64_t)(k + 200));
        for (int i = 0; i < 512; i++) x[i] = ldexpf(x[i], k);
        assert_int_equal(hu_round_f32(512, x, y, &scaled, HU_ROUND_NEAREST_EVEN, NULL, 0, NULL),
                         HU_OK);
        for (int i = 0; i < 512; i++) {
            double exact = ldexp((double)x[i], -k);
            if (fabs(exact) < 0x1p-100 || fabs(exact) > 0x1p100) continue;
            float plain = hu_format_round(&format, HU_ROUND_NEAREST_EVEN, (float)exact, 0);
            assert_true((double)y[i] == ldexp((double)plain, k));
        }
    }
}

static void test_top(void **state) {
    (void)state;
    float x[67];
    fill(x, 67, 20, 1);
    for (size_t n = 0; n <= 67; n++) {
        float most = 0;
        for (size_t i = 0; i < n; i++) most = fmaxf(most, fabsf(x[i]));
        assert_int_equal(hu_top_f32(n, x), hu_f32_bits(most));
    }
    float special[3] = {NAN, -INFINITY, -3};
    assert_int_equal(hu_top_f32(3, special), hu_f32_bits(3));
    assert_int_equal(hu_top_f32(2, special), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_blocks),
        cmocka_unit_test(test_rceil_is_that_of_others),
        cmocka_unit_test(test_all_short_inputs),
        cmocka_unit_test(test_every_mode_and_size),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_blocks_without_numbers),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_vanished_blocks),
        cmocka_unit_test(test_tensor_scales),
        cmocka_unit_test(test_scaled_rounding),
        cmocka_unit_test(test_top),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
