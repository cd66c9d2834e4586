/* Passes over whole tiles of a line and over lines that end within one: numbers, bytes and counts
 * of each instruction set are those of the general way, which portable kernels take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/rng.h"
#include "kernel/block/block.h"
#include "tensor/quantizer.h"

enum { MOST = 3 * 4096 + 1536, GUARD = 64 };

static const char *const texts[] = {
    "mxfp8",
    "mxfp8:scale=ceil",
    "mxfp8:scale=rceil",
    "mxfp8e5m2:scale=even",
    "mxfp6e3m2",
    "mxfp6e2m3",
    "mxfp4",
    "mxfp4:scale=rceil",
    "nvfp4",
    "nvfp4:as=te",
    "nvfp4:as=ao",
    "e4m3fn:tile=1x128:scale=f32",
    "e4m3fn:tile=1x64:scale=f32:as=te",
    "e4m3fn:tile=1x128:scale=f32:least=1e-4",
    "e3m2:tile=1x16:scale=e4m3fn",
    "e2m1:tile=1x32:scale=ue5m3:factor=none",
    "e2m1:tile=1x256:scale=bf16",
};
enum { TEXTS = sizeof texts / sizeof *texts };

/* One task on all instruction sets; those above the portable one have passes. */
typedef struct task {
    const char *text;
    hu_quantizer quantizer;
    hu_blocker blocker[HU_ISA_COUNT];
    int64_t row, line, rows;
    float tensor_scale;
} task;

static int isas(void) {
    return (int)hu_cpu_isa_native() + 1;
}

static void prepare(task *t, const char *text, int64_t line, int64_t lines, int64_t rows) {
    t->text = text;
    t->line = line;
    t->row = line * lines;
    t->rows = rows;
    assert_int_equal(hu_quantizer_parse(text, HU_ROUND_NEAREST_EVEN, &t->quantizer), HU_OK);
    for (int isa = 0; isa < isas(); isa++)
        assert_int_equal(hu_blocker_init_isa(&t->blocker[isa], &t->quantizer.block,
                                             HU_ROUND_NEAREST_EVEN, t->row, line, (hu_isa)isa),
                         HU_OK);
    assert_false(t->blocker[HU_ISA_SCALAR].has_pass);
    int64_t length = t->quantizer.block.length;
    bool is_short = line < length && line >= 16 && (line & (line - 1)) == 0;
    bool ends_with_byte = line > length && line * t->blocker[HU_ISA_SCALAR].width % 8 == 0;
    for (int isa = HU_ISA_AVX2; isa < isas(); isa++)
        assert_int_equal(t->blocker[isa].has_pass,
                         is_short || ends_with_byte || line % length == 0);
}

static void set_tensor_scale(task *t, const float *x) {
    const hu_blocker *b = &t->blocker[HU_ISA_SCALAR];
    t->tensor_scale = hu_block_tensor_scale(&b->format, hu_blocker_top(b, t->rows * t->row, x));
}

static void expect_same(const task *t, int isa, const char *what, const float *x, const float *y,
                        const float *wanted, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (hu_f32_bits(y[i]) != hu_f32_bits(wanted[i]))
            fail_msg("%s, line %lld, %s, %s, element %zu: input %a gives %a, expected %a", t->text,
                     (long long)t->line, hu_isa_name((hu_isa)isa), what, i, (double)x[i],
                     (double)y[i], (double)wanted[i]);
}

static void expect_counts(const task *t, int isa, const hu_round_counts *a,
                          const hu_round_counts *b) {
    if (memcmp(a, b, sizeof *a) != 0)
        fail_msg("%s, line %lld, %s: overflow %llu, underflow %llu, subnormal %llu, zero %llu, nan "
                 "%llu, expected %llu, %llu, %llu, %llu, %llu",
                 t->text, (long long)t->line, hu_isa_name((hu_isa)isa),
                 (unsigned long long)a->overflow, (unsigned long long)a->underflow,
                 (unsigned long long)a->subnormal, (unsigned long long)a->zero,
                 (unsigned long long)a->nan, (unsigned long long)b->overflow,
                 (unsigned long long)b->underflow, (unsigned long long)b->subnormal,
                 (unsigned long long)b->zero, (unsigned long long)b->nan);
}

/* Elements of the first row from places that are no tile's beginning, too. */
static void check_parts(const task *t, int isa, const float *x, const uint8_t *bytes,
                        const float *wanted) {
    static float y[MOST + GUARD];
    for (int64_t first = 0; first < t->row; first = 2 * first + 8) {
        int64_t left = t->row - first, n = left - left / 7;
        y[n] = -7.0f;
        hu_blocker_unpack(&t->blocker[isa], t->tensor_scale, bytes, first, (size_t)n, y);
        expect_same(t, isa, "part", x + first, y, wanted + first, (size_t)n);
        assert_float_equal(y[n], -7.0f, 0.0f);
    }
}

static void check_scaled(task *t, const float *x) {
    static float wanted[MOST], y[MOST + GUARD];
    static uint8_t expected_bytes[5 * MOST], bytes[5 * MOST + GUARD];
    size_t n = (size_t)(t->rows * t->row);
    hu_round_counts expected, counts;
    const hu_blocker *portable = &t->blocker[HU_ISA_SCALAR];
    size_t size = (size_t)t->rows * portable->row_bytes;
    hu_round_counts_clear(&expected);
    hu_blocker_round(portable, t->tensor_scale, t->rows, x, wanted, NULL, 0, &expected);
    hu_blocker_pack(portable, t->tensor_scale, t->rows, x, expected_bytes, NULL, 0, NULL);
    for (int isa = 1; isa < isas(); isa++) {
        const hu_blocker *b = &t->blocker[isa];
        memset(bytes, 0xA5, sizeof bytes);
        y[n] = -7.0f;
        hu_round_counts_clear(&counts);
        hu_blocker_round(b, t->tensor_scale, t->rows, x, y, NULL, 0, &counts);
        expect_same(t, isa, "rounded", x, y, wanted, n);
        assert_float_equal(y[n], -7.0f, 0.0f);
        expect_counts(t, isa, &counts, &expected);
        memcpy(y, x, n * sizeof *y);
        hu_blocker_round(b, t->tensor_scale, t->rows, y, y, NULL, 0, NULL);
        expect_same(t, isa, "rounded in place", x, y, wanted, n);
        hu_round_counts_clear(&counts);
        hu_blocker_pack(b, t->tensor_scale, t->rows, x, bytes, NULL, 0, &counts);
        expect_counts(t, isa, &counts, &expected);
        assert_memory_equal(bytes, expected_bytes, size);
        assert_int_equal(bytes[size], 0xA5);
        check_parts(t, isa, x, bytes, wanted);
    }
}

static void check(task *t, const float *x) {
    set_tensor_scale(t, x);
    check_scaled(t, x);
}

/* ---- numbers ---- */

static void fill_normal(float *x, size_t n, int exponent, uint64_t seed) {
    const hu_random_key own = {seed, 1, 2};
    for (size_t i = 0; i < n; i++) x[i] = ldexpf(hu_random_normal(&own, i), exponent);
}

/* Half of them zeros of both signs, and whole tiles of these. */
static void fill_sparse(float *x, size_t n, uint64_t seed) {
    const hu_random_key own = {seed, 3, 4};
    fill_normal(x, n, 0, seed);
    for (size_t i = 0; i < n; i++) {
        bool is_zero = hu_random_word(&own, i) % 2 || hu_random_word(&own, i / 128) % 5 == 0;
        if (is_zero) x[i] = hu_random_word(&own, i) % 4 < 2 ? 0.0f : -0.0f;
    }
}

/* All patterns, those of infinities and NaNs seldom. */
static void fill_bits(float *x, size_t n, uint64_t seed) {
    const hu_random_key own = {seed, 5, 6};
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = hu_random_word(&own, i);
        bool is_special = (bits & HU_F32_INFINITY) == HU_F32_INFINITY;
        x[i] = hu_f32_of_bits(is_special && i % 997 ? bits ^ 0x20000000u : bits);
    }
}

static void check_line(const char *text, int64_t line, int64_t lines, int64_t rows) {
    static float x[MOST];
    task t;
    prepare(&t, text, line, lines, rows);
    size_t n = (size_t)(rows * t.row);
    for (int exponent = -150; exponent <= 120; exponent += 27) {
        fill_normal(x, n, exponent, (uint64_t)(exponent + 1000));
        check(&t, x);
    }
    fill_sparse(x, n, 7);
    check(&t, x);
    fill_bits(x, n, 8);
    check(&t, x);
    memset(x, 0, n * sizeof *x);
    check(&t, x);
}

/* Batches and groups that are full, and others. */
static void test_every_format_and_size(void **state) {
    (void)state;
    for (size_t i = 0; i < TEXTS; i++) {
        hu_quantizer q;
        assert_int_equal(hu_quantizer_parse(texts[i], HU_ROUND_NEAREST_EVEN, &q), HU_OK);
        int64_t tile = q.block.length, all = MOST / tile * tile;
        check_line(texts[i], tile, 1, 3);
        check_line(texts[i], tile, 5, 2);
        check_line(texts[i], 3 * tile, 3, 1);
        check_line(texts[i], 4096, 3, 1);
        check_line(texts[i], all, 1, 1);
        check_line(texts[i], tile > 16 ? tile / 2 : 8, 7, 2);
        check_line(texts[i], 16, 300, 1);
    }
}

/* Lines that end within a tile: those that are filled up as wholes, those of which the end alone
 * is, more of them than a batch has, and those that no pass serves. */
static void test_lines_that_end_within_tiles(void **state) {
    (void)state;
    for (size_t i = 0; i < TEXTS; i++) {
        hu_quantizer q;
        assert_int_equal(hu_quantizer_parse(texts[i], HU_ROUND_NEAREST_EVEN, &q), HU_OK);
        int64_t tile = q.block.length;
        check_line(texts[i], tile + 8, 1, 3);
        check_line(texts[i], tile + 8, 7, 2);
        check_line(texts[i], tile + 4, 33, 1);
        check_line(texts[i], 2 * tile + 2, 5, 2);
        check_line(texts[i], 3 * tile - 1, 3, 2);
        check_line(texts[i], 512 + tile / 2, 20, 1);
        check_line(texts[i], 512 + tile + 4, 3, 2);
        check_line(texts[i], 4096 + 2 * tile + 12, 2, 1);
        check_line(texts[i], 7266, 1, 1);
    }
    for (int64_t line = 514; line < 518; line++) check_line("nvfp4", line, 26, 1);
    check_line("mxfp8", 516, 26, 1);
}

/* ---- formats of a wide range, whose tiles are rounded where they lie ---- */

static const char *const wide[] = {"mxfp8",
                                   "mxfp8:scale=ceil",
                                   "mxfp8e5m2",
                                   "mxfp8e5m2:scale=even",
                                   "e4m3fn:tile=1x64:scale=ue8m0",
                                   "e5m2:tile=1x16:scale=ue8m0",
                                   "e4m3fn:bias=0:tile=1x32:scale=ue8m0",
                                   "e5m2:bias=0:tile=1x32:scale=ue8m0",
                                   "e4m3fn:bias=-1:tile=1x32:scale=ue8m0"};
enum { WIDE = sizeof wide / sizeof *wide };

/* Tiles at every exponent of float32, down to its subnormals: a format's normal range below their
 * largest number, seldom further down. */
static void test_wide_tiles_at_every_exponent(void **state) {
    static float x[4096];
    const hu_random_key own = {11, 12, 13};
    (void)state;
    for (size_t f = 0; f < WIDE; f++) {
        task t;
        prepare(&t, wide[f], 4096, 1, 1);
        for (int exponent = -149; exponent <= 127; exponent++) {
            for (size_t i = 0; i < 4096; i++) {
                uint32_t word = hu_random_word(&own, (uint64_t)(exponent + 149) * 4096 + i);
                int down = i % 32 == 0 ? 0 : (int)(word >> 24) % (i / 1024 % 2 ? 15 : 17);
                float m = 1.0f + (float)(word & 0x7FFFFF) * 0x1p-23f;
                x[i] = ldexpf(word >> 23 & 1 ? -m : m, exponent - down);
            }
            check(&t, x);
        }
    }
}

/* The mantissas first .. first + 8191, in the binade of a tile's largest number, whose upper end
 * may overflow. */
static void test_every_mantissa_of_the_largest(void **state) {
    static float x[8192];
    (void)state;
    for (size_t f = 0; f < WIDE; f++) {
        task t;
        prepare(&t, wide[f], 8192, 1, 1);
        for (uint32_t first = 0; first < 1u << 23; first += 8192) {
            for (uint32_t i = 0; i < 8192; i++)
                x[i] = hu_f32_of_bits(hu_f32_bits(32.0f) | (first + i) | (i % 3 ? HU_F32_SIGN : 0));
            check(&t, x);
        }
    }
}

/* Every middle of two elements, every element and the numbers beside them, in every binade. */
static void test_every_middle_of_wide_tiles(void **state) {
    static float x[8192];
    (void)state;
    for (size_t f = 0; f < WIDE; f++) {
        task t;
        prepare(&t, wide[f], 8192, 1, 1);
        for (int down = 0; down < 34; down++) {
            for (uint32_t i = 0; i < 8192; i++) {
                float m = hu_f32_of_bits(hu_f32_bits(32.0f) + (i >> 2 << 12) + i % 4 - 1);
                x[i] = i % 16 ? ldexpf(i >> 2 & 1 ? -m : m, -down) : 32.0f;
            }
            check(&t, x);
        }
    }
}

/* ---- beside the middle of two elements ---- */

/* The unit of each tile of one row. */
static void units_of(const task *t, const float *x, float *unit) {
    static uint8_t bytes[5 * MOST];
    const hu_blocker *b = &t->blocker[HU_ISA_SCALAR];
    float inverse[MOST];
    hu_blocker_pack(b, t->tensor_scale, 1, x, bytes, NULL, 0, NULL);
    b->kernels->set_units(b, t->tensor_scale, (size_t)b->row_blocks, bytes + b->code_bytes, unit,
                          inverse);
}

/* The middle of the magnitudes of codes i and i + 1, which numbers just above it round up. */
static float middle(const hu_format *format, uint32_t i) {
    float low, high;
    assert_int_equal(hu_format_decode(format, i, &low), HU_OK);
    assert_int_equal(hu_format_decode(format, i + 1, &high), HU_OK);
    return (low + high) / 2;
}

/* Quotients around every middle, by steps of the last bit: what a division that is not correctly
 * rounded would lose. The largest of a tile stays, so that the unit stays. */
static void test_quotients_beside_middles(void **state) {
    static float x[4096], unit[4096];
    const hu_random_key own = {9, 8, 7};
    (void)state;
    for (size_t f = 0; f < TEXTS; f++) {
        task t;
        prepare(&t, texts[f], 4096, 1, 1);
        const hu_format *element = &t.quantizer.block.element;
        uint32_t codes = (uint32_t)hu_format_limits_of(element).codes / 2 - 2;
        for (uint64_t turn = 0; turn < 60; turn++) {
            int64_t length = t.quantizer.block.length;
            fill_normal(x, 4096, (int)(turn % 5) - 2, turn);
            for (int64_t i = 0; i < 4096; i += length) x[i] = 8.0f + fabsf(x[i]);
            set_tensor_scale(&t, x);
            units_of(&t, x, unit);
            for (int64_t i = 0; i < 4096; i++) {
                uint32_t word = hu_random_word(&own, turn * 4096 + (uint64_t)i);
                float near = middle(element, word % codes) * unit[i / length];
                near = hu_f32_of_bits(hu_f32_bits(near) + word / 65536 % 7 - 3);
                if (i % length && near < 8.0f) x[i] = word >> 31 ? -near : near;
            }
            check(&t, x);
        }
    }
}

/* 1 / n modulo 2^24 of an odd n. */
static uint32_t inverse_of(uint32_t n) {
    uint32_t y = n;
    for (int i = 0; i < 5; i++) y *= 2 - n * y;
    return y & 0xFFFFFF;
}

/* The numerator V of 24 bits with D N = V 2^s + e, and *s; 0: there is none. */
static uint32_t numerator_of(uint32_t d, uint32_t n, int e, int *s) {
    uint64_t v = (uint64_t)d * n - (uint64_t)(int64_t)e;
    for (*s = 0; v >> 24; v >>= 1, ++*s)
        if (v & 1) return 0;
    return (uint32_t)v;
}

/* One pair: tiles with the unit d, and v scaled to every binade. */
static size_t check_pair(task *t, uint32_t d, uint32_t v, int s) {
    float x[16], unit = ldexpf((float)d, -24), quotient = ldexpf((float)v, s - 24 - 24);
    float most = t->blocker[HU_ISA_SCALAR].most;
    for (int i = 0; i < 16; i++) x[i] = ldexpf(quotient, i - 12);
    for (int i = 0; i < 16; i++)
        if (x[i] > most * unit) x[i] = -ldexpf(quotient, -i);
    x[0] = most * unit;
    t->tensor_scale = unit;
    check_scaled(t, x);
    return 1;
}

/* Every divisor and numerator of pass.h's note for the middles of a format. */
static void test_hardest_quotients(void **state) {
    static const char *const of[] = {"nvfp4", "e4m3fn:tile=1x16:scale=e4m3fn",
                                     "e3m2:tile=1x16:scale=e4m3fn"};
    (void)state;
    for (size_t f = 0; f < sizeof of / sizeof *of; f++) {
        task t;
        size_t pairs = 0;
        prepare(&t, of[f], 16, 1, 1);
        int bits = t.quantizer.block.element.man_bits + 2, s;
        for (uint32_t m = 1u << (bits - 1); m < 1u << bits; m++)
            for (int side = -1; side <= 1; side += 2)
                for (int e = -4; e <= 4; e++) {
                    bool is_below_power = side < 0 && m == 1u << (bits - 1);
                    uint32_t n = (m << (25 - bits + is_below_power)) + (uint32_t)side;
                    uint32_t d = ((uint32_t)e * inverse_of(n)) & 0xFFFFFF;
                    uint32_t v = d >> 23 ? numerator_of(d, n, e, &s) : 0;
                    if (v >> 23) pairs += check_pair(&t, d, v, s);
                }
        assert_true(pairs > 8);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_format_and_size),
        cmocka_unit_test(test_wide_tiles_at_every_exponent),
        cmocka_unit_test(test_every_mantissa_of_the_largest),
        cmocka_unit_test(test_every_middle_of_wide_tiles),
        cmocka_unit_test(test_lines_that_end_within_tiles),
        cmocka_unit_test(test_quotients_beside_middles),
        cmocka_unit_test(test_hardest_quotients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
