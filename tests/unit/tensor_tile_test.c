/* Tiles with scales of their own: kernels against loops over numbers bit for bit, packed and
 * unpacked, on every instruction set; the recipes that others publish by their check values. */
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
#include "reference/tile.h"
#include "tensor/quantizer.h"

enum { MOST = 1 << 15, GUARD = 32 };
static const hu_random_key key = {3, 5, 7};

static hu_quantizer quantizer_of(const char *text) {
    hu_quantizer quantizer;
    if (hu_quantizer_parse(text, HU_ROUND_NEAREST_EVEN, &quantizer) != HU_OK)
        fail_msg("%s", hu_last_error());
    assert_int_equal(quantizer.kind, HU_QUANTIZER_BLOCK);
    return quantizer;
}

/* Numbers of widely spread size, some zeros. */
static void fill(float *x, size_t n, int spread, uint64_t seed) {
    hu_random_key own = {seed, 1, 2};
    for (size_t i = 0; i < n; i++) {
        int exponent = (int)(hu_random_word(&own, 2 * i) % (uint32_t)(2 * spread + 1)) - spread;
        float unit = hu_random_normal(&own, 7777 + i);
        x[i] = hu_random_word(&own, 2 * i + 1) % 9 == 0 ? 0.0f : ldexpf(unit, exponent);
        if (!isfinite(x[i])) x[i] = 0x1p127f;
    }
}

static void expect_bits(const char *text, const char *what, size_t n, const float *x,
                        const float *y, const float *wanted) {
    for (size_t i = 0; i < n; i++)
        if (hu_f32_bits(y[i]) != hu_f32_bits(wanted[i]))
            fail_msg("%s, %s, element %zu: input %a gives %a, expected %a", text, what, i,
                     (double)x[i], (double)y[i], (double)wanted[i]);
}

static uint32_t code_at(const uint8_t *bytes, size_t i, uint32_t width) {
    uint32_t code = 0;
    for (uint32_t k = 0; k < width; k++) {
        size_t bit = i * width + k;
        code |= (uint32_t)(bytes[bit / 8] >> bit % 8 & 1) << k;
    }
    return code;
}

/* A stored scale as a number, read without the code under test. */
static float stored_scale(const hu_block_format *f, const uint8_t *scales, size_t i) {
    uint32_t bytes = hu_block_scale_bytes(f), code = 0;
    float value;
    memcpy(&code, scales + i * bytes, bytes);
    if (f->scale == HU_BLOCK_SCALE_E8M0)
        return code == 255 ? NAN : (float)ldexp(1.0, (int)code - 127);
    if (bytes == 4) return hu_f32_of_bits(code);
    assert_int_equal(hu_format_decode(&f->scale_format, code, &value), HU_OK);
    return value;
}

typedef struct expected {
    float y[MOST], scales[MOST];
    uint32_t codes[MOST];
} expected;

static void check_bytes(const char *text, const hu_blocker *b, const uint8_t *row,
                        const expected *e) {
    size_t n = (size_t)b->row_elements, bytes = (n * b->width + 7) / 8;
    int64_t tiles = hu_block_tiles(&b->format, b->row_lines, b->line);
    assert_int_equal(b->row_bytes, bytes + (size_t)tiles * b->scale_bytes);
    for (size_t i = 0; i < n; i++)
        if (code_at(row, i, b->width) != e->codes[i])
            fail_msg("%s, element %zu: code %x, expected %x", text, i, code_at(row, i, b->width),
                     e->codes[i]);
    for (size_t i = 0; i < (size_t)tiles; i++) {
        float scale = stored_scale(&b->format, row + bytes, i);
        if (hu_f32_bits(scale) != hu_f32_bits(e->scales[i]) &&
            !(isnan(scale) && isnan(e->scales[i])))
            fail_msg("%s, tile %zu: scale %a, expected %a", text, i, (double)scale,
                     (double)e->scales[i]);
    }
}

/* Rounded, in place too, packed, unpacked as a whole and in parts. */
static void check_isa(const char *text, const hu_quantizer *q, float tensor_scale, int64_t lines,
                      int64_t line, const float *x, const expected *e, hu_isa isa) {
    static float y[MOST];
    static uint8_t row[8 * MOST + GUARD];
    size_t n = (size_t)(lines * line);
    const uint64_t index = 1000003;
    hu_blocker b;
    hu_round_counts rounded, packed;
    assert_int_equal(hu_blocker_init_isa(&b, &q->block, q->rounding, lines * line, line, isa),
                     HU_OK);
    hu_round_counts_clear(&rounded);
    hu_round_counts_clear(&packed);
    hu_blocker_round(&b, tensor_scale, 1, x, y, &key, index, &rounded);
    expect_bits(text, "rounded", n, x, y, e->y);
    memcpy(y, x, n * sizeof *y);
    hu_blocker_round(&b, tensor_scale, 1, y, y, &key, index, NULL);
    expect_bits(text, "in place", n, x, y, e->y);
    memset(row, 0xA5, sizeof row);
    hu_blocker_pack(&b, tensor_scale, 1, x, row, &key, index, &packed);
    for (int i = 0; i < GUARD; i++) assert_int_equal(row[b.row_bytes + (size_t)i], 0xA5);
    check_bytes(text, &b, row, e);
    hu_blocker_unpack(&b, tensor_scale, row, 0, n, y);
    expect_bits(text, "unpacked", n, x, y, e->y);
    for (int64_t first = 8; first < (int64_t)n; first += 8 * 13) {
        size_t count = (int64_t)n - first < 37 ? n - (size_t)first : 37;
        hu_blocker_unpack(&b, tensor_scale, row, first, count, y);
        expect_bits(text, "part", count, x + first, y, e->y + first);
    }
    assert_memory_equal(&rounded, &packed, sizeof packed);
    assert_int_equal(rounded.elements, n);
}

static void check(const char *text, int64_t lines, int64_t line, const float *x) {
    static expected e;
    hu_quantizer q = quantizer_of(text);
    const uint32_t *signs = hu_hadamard_fixed(q.block.signs);
    float top = hu_tile_reference_top(&q.block, lines, line, x, signs);
    hu_blocker b;
    assert_int_equal(hu_blocker_init(&b, &q.block, q.rounding, lines * line, line), HU_OK);
    assert_int_equal(hu_blocker_top(&b, lines * line, x), hu_f32_bits(top));
    float tensor_scale = hu_block_tensor_scale(&q.block, hu_f32_bits(top));
    hu_tile_reference(&q.block, q.rounding, tensor_scale, lines, line, x, &key, 1000003, signs, e.y,
                      e.codes, e.scales);
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++)
        check_isa(text, &q, tensor_scale, lines, line, x, &e, (hu_isa)isa);
}

static const char *const texts[] = {
    "e4m3fn:tile=1x128:scale=f32",
    "e4m3fn:tile=128x128:scale=f32",
    "e4m3fn:tile=128x1:scale=f32",
    "e4m3fn:tile=1x128:scale=f32:least=1e-4",
    "e4m3fn:tile=1x128:scale=f32:as=te",
    "e4m3fn:tile=1x128:scale=pow2",
    "e4m3fn:tile=5x7:scale=ceil sr",
    "e5m2:tile=3x24:scale=even",
    "e2m1:tile=1x16:scale=e4m3fn",
    "e2m1:tile=16x16:scale=e4m3fn",
    "e2m1:tile=16x1:scale=e4m3fn sr",
    "nvfp4:as=te",
    "nvfp4:as=ao",
    "nvfp4:as=ao:factor=none",
    "nvfp4:as=te:factor=none",
    "nvfp4:as=te:tile=16x16",
    "e2m1:tile=1x32:scale=ue5m3",
    "e2m1:tile=4x8:scale=ue5m3:factor=none",
    "e3m2:tile=2x9:scale=bf16",
    "e2m3:tile=1x5:scale=fp16:factor=none ru",
    "mxint8:tile=3x3",
    "bf16:tile=1x100:scale=f32",
    "e5m10:tile=2x8:scale=f32 rz",
    "e3m1:tile=1x64:scale=f32",
    "e8m2:tile=1x3000:scale=f32",
    "e1m2:specials=fin:tile=1x1:scale=f32",
    "nvfp4:4/6",
    "nvfp4:4/6=square",
    "nvfp4:tile=16x16:4/6",
    "nvfp4:as=te:4/6 sr",
    "nvfp4:eden rna",
    "nvfp4:eden=128 rna",
    "nvfp4:eden=16",
    "nvfp4:hadamard=16",
    "nvfp4:hadamard=16 sr",
    "nvfp4:eden=32:hadamard=32 rna",
    "nvfp4:eden=128:hadamard=128 rna",
    "nvfp4:tile=1x24:hadamard=32:plain",
    "e4m3fn:tile=1x128:scale=f32:hadamard=1024",
    "mxfp4:hadamard=32",
    "e4m3fn:tile=16x16:scale=f32:hadamard=2",
    "e4m3fn:tile=1x16:scale=binary8p3se",
    "binary8p4se:tile=2x8:scale=binary8p4uf:factor=none",
    "book:1..3:5:tile=1x8:scale=e4m3fn",
};
enum { TEXTS = sizeof texts / sizeof *texts };

/* Whole and short tiles, lines shorter and longer than a tile, than a piece and than a slab. */
static void test_shapes(void **state) {
    static const int64_t shapes[][2] = {{1, 1},    {1, 16},   {1, 130},  {3, 7},   {5, 33},
                                        {16, 16},  {17, 40},  {40, 17},  {130, 3}, {129, 129},
                                        {2, 2100}, {1, 5000}, {300, 60}, {7, 1500}};
    static float x[MOST];
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t t = 0; t < TEXTS; t++) {
            fill(x, (size_t)(shapes[s][0] * shapes[s][1]), 4, 31 * s + t);
            check(texts[t], shapes[s][0], shapes[s][1], x);
        }
}

/* Lines in several slabs whose tiles, rotated groups and corrected groups have different lengths;
 * groups of very many tiles. */
static void test_long_lines(void **state) {
    static const char *const some[] = {
        "nvfp4:eden=48:hadamard=64 rna", "nvfp4:tile=1x33:eden=99:hadamard=32",
        "nvfp4:tile=1x1:eden=1024", "nvfp4:tile=1x3:eden=9:hadamard=256",
        "nvfp4:tile=1x3000:eden=12000:hadamard=16"};
    static float x[MOST];
    (void)state;
    for (size_t t = 0; t < sizeof some / sizeof *some; t++) {
        fill(x, MOST, 4, 900 + t);
        check(some[t], 1, 25000, x);
        check(some[t], 3, 9001, x);
    }
}

/* Elements and scales whose largest numbers have a product beyond float32, and elements that make
 * NaN of infinities. */
static void test_far_numbers(void **state) {
    static const char *const some[] = {"takum16:tile=1x32:scale=e4m3fn",
                                       "takum8:tile=4x8:scale=f32",
                                       "posit16:tile=1x16:scale=ue5m3:as=te",
                                       "bf16:tile=2x3:scale=bf16", "e5m2:tile=1x32:scale=bf16"};
    static float x[MOST], y[MOST];
    (void)state;
    for (size_t t = 0; t < sizeof some / sizeof *some; t++)
        for (int spread = 0; spread <= 120; spread += 12) {
            hu_quantizer q = quantizer_of(some[t]);
            hu_blocker b;
            fill(x, 4096, spread, 5 * t + (size_t)spread);
            check(some[t], 32, 128, x);
            assert_int_equal(hu_blocker_init(&b, &q.block, q.rounding, 4096, 128), HU_OK);
            uint32_t top = hu_top_f32(4096, x);
            hu_blocker_round(&b, hu_block_tensor_scale(&q.block, top), 1, x, y, &key, 0, NULL);
            for (size_t i = 0; i < 4096; i++) {
                bool is_top = (hu_f32_bits(x[i]) & ~HU_F32_SIGN) == top;
                if (isnan(y[i]) || (is_top && fabsf(y[i] / x[i] - 1) > 0.15f))
                    fail_msg("%s: %a became %a", some[t], (double)x[i], (double)y[i]);
            }
        }
}

/* Sizes from the least float32 to the largest, and tiles that vanish. */
static void test_spreads(void **state) {
    static const int spreads[] = {0, 2, 12, 40, 140};
    static float x[MOST];
    (void)state;
    for (size_t s = 0; s < sizeof spreads / sizeof *spreads; s++)
        for (size_t t = 0; t < TEXTS; t++) {
            fill(x, 4096, spreads[s], 17 * t + s);
            check(texts[t], 32, 128, x);
        }
}

/* Every scale: tiles of one number pass all exponents and many significands. */
static void test_every_scale(void **state) {
    static const char *const of_one[] = {
        "e4m3fn:tile=1x1:scale=f32",
        "e4m3fn:tile=1x1:scale=f32:as=te",
        "e4m3fn:tile=1x1:scale=pow2",
        "e5m2:tile=1x1:scale=ue8m0",
        "e2m1:tile=1x1:scale=e4m3fn",
        "e2m1:tile=1x1:scale=e4m3fn:as=te",
        "e2m1:tile=1x1:scale=e4m3fn:as=ao",
        "e2m1:tile=1x1:scale=ue5m3",
        "e2m3:tile=1x1:scale=ceil",
        "e3m2:tile=1x1:scale=even",
        "e2m1:tile=1x1:scale=e4m3fn:factor=none",
    };
    static float x[MOST];
    (void)state;
    for (size_t t = 0; t < sizeof of_one / sizeof *of_one; t++)
        for (uint32_t salt = 0; salt < 3; salt++) {
            for (uint32_t i = 0; i < MOST; i++) {
                uint32_t bits = i << 16 | (i * 2654435761u + salt * 40503u) >> 16;
                if (salt == 0) bits = i << 16;
                x[i] = hu_f32_of_bits(bits < HU_F32_INFINITY ? bits : 0);
            }
            check(of_one[t], 1, MOST, x);
        }
}

static void test_no_numbers(void **state) {
    static float x[4096];
    (void)state;
    for (size_t t = 0; t < TEXTS; t++)
        for (int special = 0; special < 4; special++) {
            fill(x, 4096, 3, 5 + t);
            if (special == 0) memset(x, 0, sizeof x);
            if (special == 1) x[70] = NAN;
            if (special == 2) x[4000] = -INFINITY;
            if (special == 3)
                for (int i = 512; i < 1536; i++) x[i] = i % 2 ? 0.0f : -0.0f;
            check(texts[t], 32, 128, x);
        }
}

/* A text that names a block format is that format. */
static void test_named_formats(void **state) {
    static const char *const pairs[][2] = {
        {"e2m1:tile=1x16:scale=e4m3fn", "nvfp4"},
        {"e4m3fn:tile=1x32:scale=ue8m0", "mxfp8"},
        {"e4m3fn:tile=1x32:scale=rceil", "mxfp8:scale=rceil"},
        {"e4m3fn:tile=1x32:scale=pow2", "mxfp8:scale=rceil"},
        {"e5m2:scale=floor:tile=1x32", "mxfp8e5m2"},
        {"e2m1:tile=1x32:scale=even", "mxfp4:scale=even"},
        {"e1m6:bias=1:specials=fnuz:tile=1x32:scale=ue8m0", "mxint8"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        hu_quantizer q = quantizer_of(pairs[i][0]), named = quantizer_of(pairs[i][1]);
        char text[HU_QUANTIZER_BYTES];
        hu_quantizer_print(&q, text, sizeof text);
        assert_string_equal(text, pairs[i][1]);
        assert_true(hu_quantizer_same_numbers(&q, &named));
    }
}

/* Across is the transposed matrix. */
static void test_across(void **state) {
    enum { LINES = 70, LINE = 45, N = LINES * LINE };
    static float x[N], turned[N], y[N], z[N];
    static const char *const some[] = {"e4m3fn:tile=1x32:scale=f32", "nvfp4", "mxfp4",
                                       "e4m3fn:tile=16x8:scale=f32"};
    (void)state;
    fill(x, N, 4, 77);
    for (int l = 0; l < LINES; l++)
        for (int c = 0; c < LINE; c++) turned[c * LINES + l] = x[l * LINE + c];
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        hu_quantizer q = quantizer_of(some[i]);
        hu_block_format across = hu_block_format_across(&q.block);
        float scale = hu_block_tensor_scale(&q.block, hu_top_f32(N, x));
        hu_blocker along, other;
        assert_int_equal(hu_blocker_init(&along, &q.block, q.rounding, N, LINES), HU_OK);
        assert_int_equal(hu_blocker_init(&other, &across, q.rounding, N, LINE), HU_OK);
        hu_blocker_round(&along, scale, 1, turned, z, &key, 0, NULL);
        hu_blocker_round(&other, scale, 1, x, y, &key, 0, NULL);
        for (int l = 0; l < LINES; l++)
            for (int c = 0; c < LINE; c++)
                assert_int_equal(hu_f32_bits(y[l * LINE + c]), hu_f32_bits(z[c * LINES + l]));
    }
}

/* ---- what others publish ---- */

static const float nvfp4_rows[2][16] = {
    {1, -2, 3, .5f, .25f, .1f, -.7f, 1.3f, 2.2f, -2.9f, .03f, 0, .9f, 1.1f, -1.6f, .4f},
    {.0f, .01f, .02f, .03f, .04f, .05f, .06f, .07f, .08f, .09f, .1f, .11f, .12f, .13f, .14f, .15f}};

/* Computed with TransformerEngine's and torchao's formulas. */
static void test_nvfp4_of_others(void **state) {
    static const float wanted[2][16] = {{2, -4, 6, 1, .5f, 0, -1.5f, 3, 4, -6, 0, 0, 2, 2, -3, 1},
                                        {0, .5f, 1, 1, 1.5f, 2, 2, 3, 3, 4, 4, 4, 4, 6, 6, 6}};
    static const char *const ways[] = {"nvfp4", "nvfp4:as=te", "nvfp4:as=ao"};
    (void)state;
    for (size_t w = 0; w < 3; w++) {
        hu_quantizer q = quantizer_of(ways[w]);
        hu_blocker b;
        uint8_t row[64];
        assert_int_equal(hu_blocker_init(&b, &q.block, q.rounding, 32, 32), HU_OK);
        float scale = hu_block_tensor_scale(&q.block, hu_top_f32(32, nvfp4_rows[0]));
        float d = w == 1 ? 1.0f / scale : scale;
        assert_int_equal(hu_f32_bits(d), hu_f32_bits(0x1.24924ap-10f));
        hu_blocker_pack(&b, scale, 1, nvfp4_rows[0], row, &key, 0, NULL);
        assert_true(stored_scale(&q.block, row + 16, 0) == 448);
        assert_true(stored_scale(&q.block, row + 16, 1) == 22);
        for (size_t i = 0; i < 32; i++) {
            float p;
            hu_format_decode(&q.block.element, code_at(row, i, 4), &p);
            if (p != wanted[i / 16][i % 16])
                fail_msg("%s, element %zu: %g, expected %g", ways[w], i, (double)p,
                         (double)wanted[i / 16][i % 16]);
        }
    }
}

/* MS-EDEN of 1..32 without rotation. */
static void test_eden(void **state) {
    static const float wanted[32] = {.5f, 1, 1, 1.5f, 2, 2, 3, 3, 3, 4, 4, 4, 4, 6, 6, 6,
                                     3,   3, 4, 4,    4, 4, 4, 4, 4, 4, 6, 6, 6, 6, 6, 6};
    hu_quantizer q = quantizer_of("nvfp4:eden=32 rna");
    hu_blocker b;
    float x[32];
    int up = 0;
    enum { DRAWS = 20000 };
    (void)state;
    for (int i = 0; i < 32; i++) x[i] = (float)(i + 1);
    assert_int_equal(hu_blocker_init(&b, &q.block, q.rounding, 32, 32), HU_OK);
    float g = hu_block_tensor_scale(&q.block, hu_top_f32(32, x));
    assert_true(fabsf(g - 0.0205867417f) < 1e-9f);
    for (int draw = 0; draw < DRAWS; draw++) {
        uint8_t row[64];
        hu_blocker_pack(&b, g, 1, x, row, &key, (uint64_t)draw * 32, NULL);
        for (size_t i = 0; i < 32; i++) {
            float p;
            hu_format_decode(&q.block.element, code_at(row, i, 4), &p);
            assert_true(p == wanted[i]);
        }
        float c = stored_scale(&q.block, row + 16, 0);
        assert_true(c == 128 || c == 144);
        up += c == 144;
    }
    /* 128 t = 128.692922 goes up with probability 0.0433076: within 4 standard deviations. */
    double mean = 0.0433076, deviation = sqrt(mean * (1 - mean) / DRAWS);
    assert_true(fabs((double)up / DRAWS - mean) < 4 * deviation);
}

/* DeepSeek: s = max(a, 1e-4) / 448, elements E4M3(x (1 / s)). */
static void test_deepseek(void **state) {
    hu_quantizer q = quantizer_of("e4m3fn:tile=1x128:scale=f32:least=1e-4");
    hu_blocker b;
    float x[256], y[256];
    (void)state;
    fill(x, 128, 3, 1);
    for (int i = 128; i < 256; i++) x[i] = 1e-6f * (float)(i - 190);
    assert_int_equal(hu_blocker_init(&b, &q.block, q.rounding, 256, 256), HU_OK);
    hu_blocker_round(&b, 1.0f, 1, x, y, &key, 0, NULL);
    for (int t = 0; t < 2; t++) {
        float top = hu_f32_of_bits(hu_top_f32(128, x + 128 * t));
        float s = (top > 1e-4f ? top : 1e-4f) / 448.0f, r = 1.0f / s;
        for (int i = 128 * t; i < 128 * t + 128; i++) {
            float p = hu_format_round(&q.block.element, HU_ROUND_NEAREST_EVEN, x[i] * r, 0);
            assert_int_equal(hu_f32_bits(y[i]), hu_f32_bits(p * s));
        }
    }
}

/* ---- texts ---- */

static void test_texts(void **state) {
    (void)state;
    for (size_t t = 0; t < TEXTS; t++) {
        hu_quantizer q = quantizer_of(texts[t]), again;
        char text[HU_QUANTIZER_BYTES], other[HU_QUANTIZER_BYTES];
        hu_quantizer_print(&q, text, sizeof text);
        assert_int_equal(hu_quantizer_parse(text, q.rounding, &again), HU_OK);
        assert_true(hu_quantizer_same_numbers(&q, &again));
        hu_quantizer_print(&again, other, sizeof other);
        assert_string_equal(text, other);
    }
}

/* Elements of a file of numbers, whose name is longer than those of formats that have names. */
static void test_a_long_name(void **state) {
    (void)state;
    const char path[] =
        "numbers-of-a-table-whose-file-has-a-name-of-more-than-a-hundred-letters-so-"
        "that-no-room-for-short-ones-holds-it.txt";
    char asked[HU_QUANTIZER_BYTES], text[HU_QUANTIZER_BYTES];
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("-1\n0\n0.5\n1\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    snprintf(asked, sizeof asked, "table:%s:tile=1x4:scale=f32", path);
    hu_quantizer q = quantizer_of(asked);
    hu_quantizer_print(&q, text, sizeof text);
    assert_string_equal(text, asked);
    assert_int_equal(remove(path), 0);
}

static void test_refused(void **state) {
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"e4m3fn:tile=0x128:scale=f32", "column 13: found '0x128', expected RxC"},
        {"e4m3fn:tile=128:scale=f32", "column 13: found '128', expected RxC"},
        {"e4m3fn:tile=1x128", "found 'tile' without 'scale='"},
        {"e5m2:hadamard=16", "found 'hadamard' without 'tile='"},
        {"e4m3fn:tile=1x128:scale=current", "column 25: found 'current', expected f32, ue8m0"},
        {"e4m3fn:tile=1x128:scale=2^3", "2^3 is of a whole tensor"},
        {"e4m3fn:tile=1x128:scale=e4m3f", "nearest: 'e4m3fn'"},
        {"e4m3fn:tile=1x128:scale=", "column 25: found 'scale', expected f32"},
        {"e4m3fn:tile=1x128:scale=e2m1", "a code for NaN"},
        {"e4m3fn:tile=1x1:tile=2x2:scale=f32", "'tile=' is given twice"},
        {"e4m3fn:scale=f32:tile=1x1:hadamard=12", "column 36: found '12', expected a power of two"},
        {"nvfp4:hadamard=2048", "expected a power of two, 2..1024"},
        {"nvfp4:random", "expected hadamard= beside it"},
        {"nvfp4:hadamard=16:random:plain", "expected random or plain alone"},
        {"nvfp4:scale=ceil:tile=2x2", "the blocks of nvfp4"},
        {"mxfp8:4/6", "4/6 goes with elements of e2m1"},
        {"mxfp8:as=te", "a power of two is found by"},
        {"nvfp4:as=tf", "expected te or ao"},
        {"e4m3fn:tile=1x1:scale=f32:as=ao", "a scale that is a number of a format"},
        {"nvfp4:eden=24", "a group of whole tiles"},
        {"nvfp4:tile=16x16:eden", "tiles of one line"},
        {"nvfp4:tile=1x1:eden=1025", "every 1025 tiles, expected at most 1024"},
        {"nvfp4:eden=48:hadamard=1024:tile=1x1", "found eden=48 and hadamard=1024 in tiles of 1"},
        {"nvfp4:eden:as=te", "expected eden or as="},
        {"nvfp4:least=1", "expected scale=f32 beside it"},
        {"e4m3fn:tile=1x1:scale=f32:least=-1", "expected a number above 0"},
        {"e4m3fn:tile=1x1:scale=f32:factor=none", "expected scale=FORMAT beside it"},
        {"fp32:tile=1x1:scale=f32", "found tiles of fp32"},
        {"e4m3fn:ovf=inf:tile=1x1:scale=f32", "elements of tiles saturate"},
        {"8p3se:sat=none:tile=1x1:scale=f32", "found sat=, expected none"},
        {"uniform8:tile=1x1", "uniform integers have the tensor's range"},
    };
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        hu_quantizer q;
        if (hu_quantizer_parse(rows[r].text, HU_ROUND_NEAREST_EVEN, &q) == HU_OK)
            fail_msg("'%s' was read", rows[r].text);
        if (!strstr(hu_last_error(), rows[r].says))
            fail_msg("'%s' says: %s", rows[r].text, hu_last_error());
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),          cmocka_unit_test(test_spreads),
        cmocka_unit_test(test_long_lines),      cmocka_unit_test(test_far_numbers),
        cmocka_unit_test(test_every_scale),     cmocka_unit_test(test_no_numbers),
        cmocka_unit_test(test_named_formats),   cmocka_unit_test(test_across),
        cmocka_unit_test(test_nvfp4_of_others), cmocka_unit_test(test_eden),
        cmocka_unit_test(test_deepseek),        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_a_long_name),     cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
