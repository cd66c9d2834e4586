/* Arrays rounded and packed by quantizers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <halfulp/quantize.h>

enum { ROWS = 70, LINE = 83, N = ROWS * LINE, BYTES = 4 * N };

static float x[N], rounded[N], unpacked[N];
static unsigned char data[BYTES];
static const hu_random_key key = {7, 11, 13};

static void make_numbers(void) {
    for (int i = 0; i < N; i++)
        x[i] = ldexpf((float)((unsigned)i * 2654435761u % 20011u) - 10000.0f, i % 23 - 20);
    x[17] = NAN;
    x[18] = INFINITY;
    x[N - 1] = -0.0f;
}

static hu_quantization *open_text(const char *text) {
    hu_quantization *made;
    if (hu_quantization_open(text, HU_ROUND_NEAREST_EVEN, LINE, &made) != HU_OK)
        fail_msg("%s: %s", text, hu_last_error());
    return made;
}

static void unpacking_gives_the_rounded_numbers(void **state) {
    static const char *const texts[] = {"fp32",
                                        "e4m3fn",
                                        "e5m2 sr",
                                        "fp16",
                                        "tf32",
                                        "fp(4,3,4)",
                                        "e4m3fn:scale=2^-5",
                                        "e4m3fn:scale=current",
                                        "mxfp8",
                                        "mxfp4 sr",
                                        "nvfp4",
                                        "1/6/9:scale=bias",
                                        "e3m2",
                                        "uniform5",
                                        "uniform12 sr",
                                        "bf16 rz"};
    (void)state;
    make_numbers();
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        hu_quantization *q = open_text(texts[t]);
        hu_array_scale scale, packed_scale;
        hu_round_counts counts, packed_counts;
        hu_round_counts_clear(&counts);
        hu_round_counts_clear(&packed_counts);
        assert_true(hu_quantized_bytes(q, ROWS) <= BYTES);
        assert_int_equal(hu_quantize(q, ROWS, x, rounded, &key, 5, &scale, &counts), HU_OK);
        assert_int_equal(hu_quantize_pack(q, ROWS, x, data, &key, 5, &packed_scale, &packed_counts),
                         HU_OK);
        assert_memory_equal(&scale, &packed_scale, sizeof scale);
        assert_memory_equal(&counts, &packed_counts, sizeof counts);
        hu_quantize_unpack(q, ROWS, data, scale, unpacked);
        for (int i = 0; i < N; i++) {
            bool is_same = memcmp(&rounded[i], &unpacked[i], sizeof(float)) == 0;
            bool is_lost = !isfinite(rounded[i]); /* formats without NaN or infinity */
            if (!is_same && !is_lost) fail_msg("%s: element %d", texts[t], i);
        }
        hu_quantization_close(q);
    }
}

/* Bytes of packed arrays, one line of LINE numbers and many: 8 and 16 bits in their place, 19
 * dense, blocks of 32 and 16 with a byte for each scale. */
static void arrays_take_the_bytes_of_their_codes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t one, many;
    } cases[] = {{"fp32", 4 * LINE, 4 * N},
                 {"e4m3fn", LINE, N},
                 {"e3m2 sr", LINE, N},
                 {"e4m4", 2 * LINE, 2 * N},
                 {"bf16", 2 * LINE, 2 * N},
                 {"e8m8", (17 * LINE + 7) / 8, (17 * N + 7) / 8},
                 {"tf32", (19 * LINE + 7) / 8, (19 * N + 7) / 8},
                 {"mxfp8", LINE + 3, ROWS * (LINE + 3)},
                 {"nvfp4", (LINE + 1) / 2 + 6, ROWS * ((LINE + 1) / 2 + 6)},
                 {"uniform5", (5 * LINE + 7) / 8, ROWS * ((5 * LINE + 7) / 8)}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        hu_quantization *q = open_text(cases[c].text);
        assert_int_equal(hu_quantized_bytes(q, 1), cases[c].one);
        assert_int_equal(hu_quantized_bytes(q, ROWS), cases[c].many);
        hu_quantization_close(q);
    }
}

/* Neither the place of the result nor cutting an array into rows changes a number; random words are
 * those of the elements, and others give other numbers. */
static void places_and_parts_change_nothing(void **state) {
    (void)state;
    static const char *const texts[] = {"fp32", "fp16 sr", "mxfp6e2m3 sr", "e5m2 rz"};
    make_numbers();
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        hu_quantization *q = open_text(texts[t]);
        assert_int_equal(hu_quantize(q, ROWS, x, rounded, &key, 5, NULL, NULL), HU_OK);
        memcpy(unpacked, x, sizeof x);
        assert_int_equal(hu_quantize(q, ROWS, unpacked, unpacked, &key, 5, NULL, NULL), HU_OK);
        assert_memory_equal(unpacked, rounded, sizeof rounded);
        memset(unpacked, 0, sizeof unpacked);
        for (int r = 0; r < ROWS; r += 7)
            assert_int_equal(hu_quantize(q, 7, x + r * LINE, unpacked + r * LINE, &key,
                                         5 + (uint64_t)(r * LINE), NULL, NULL),
                             HU_OK);
        assert_memory_equal(unpacked, rounded, sizeof rounded);
        assert_int_equal(hu_quantize(q, ROWS, x, unpacked, &key, 6, NULL, NULL), HU_OK);
        assert_int_equal(memcmp(unpacked, rounded, sizeof rounded) != 0, t == 1 || t == 2);
        hu_quantization_close(q);
    }
}

/* What rounding needs no scale has the scale 1 and zero 0; block formats with a second scale take
 * it from the largest magnitude: 6 times 448 in NVFP4. */
static void scales_are_told(void **state) {
    (void)state;
    static const char *const unscaled[] = {"fp32", "fp16", "mxfp8"};
    hu_array_scale scale;
    make_numbers();
    for (size_t t = 0; t < 3; t++)
        for (int packs = 0; packs < 2; packs++) {
            hu_quantization *q = open_text(unscaled[t]);
            scale = (hu_array_scale){9, 9, 9};
            if (packs)
                assert_int_equal(hu_quantize_pack(q, ROWS, x, data, NULL, 0, &scale, NULL), HU_OK);
            else
                assert_int_equal(hu_quantize(q, ROWS, x, rounded, NULL, 0, &scale, NULL), HU_OK);
            assert_int_equal(scale.exponent, 0);
            assert_true(scale.factor == 1.0f && scale.zero == 0.0f);
            hu_quantization_close(q);
        }
    hu_quantization *q = open_text("nvfp4");
    memset(x, 0, sizeof x);
    x[N - 1] = -6.0f * 448.0f * 0.125f; /* the last element counts */
    assert_int_equal(hu_quantize(q, ROWS, x, rounded, NULL, 0, &scale, NULL), HU_OK);
    assert_true(scale.factor == 0.125f && rounded[N - 1] == x[N - 1]);
    hu_quantization_close(q);
    q = open_text("uniform4");
    x[N - 1] = 30.0f, x[0] = -15.0f;
    assert_int_equal(hu_quantize(q, ROWS, x, rounded, NULL, 0, &scale, NULL), HU_OK);
    assert_true(scale.exponent == 0 && scale.zero == -15.0f && scale.factor == 3.0f);
    hu_quantization_close(q);
}

static void a_plain_format_is_plain_rounding(void **state) {
    hu_format format;
    float expected[N];
    (void)state;
    make_numbers();
    hu_quantization *q = open_text("e4m3fn");
    assert_int_equal(hu_format_parse("e4m3fn", &format), HU_OK);
    assert_int_equal(hu_round_f32(N, x, expected, &format, HU_ROUND_NEAREST_EVEN, NULL, 0, NULL),
                     HU_OK);
    assert_int_equal(hu_quantize(q, ROWS, x, rounded, NULL, 0, NULL, NULL), HU_OK);
    assert_memory_equal(expected, rounded, sizeof expected);
    hu_quantization_close(q);
}

/* Both ends of an array stay, and all else moves to evenly spaced numbers between them. */
static void uniform_integers_span_the_array(void **state) {
    (void)state;
    static const int bits[] = {2, 7, 13};
    for (size_t b = 0; b < sizeof bits / sizeof *bits; b++) {
        char text[16];
        hu_array_scale scale;
        for (int i = 0; i < N; i++) x[i] = (float)(i % 1001) * 0.25f - 100.0f;
        snprintf(text, sizeof text, "uniform%d", bits[b]);
        hu_quantization *q = open_text(text);
        double step = 250.0 / (double)((1 << bits[b]) - 1);
        assert_int_equal(hu_quantized_bytes(q, ROWS), ROWS * ((LINE * bits[b] + 7) / 8));
        assert_int_equal(hu_quantize_pack(q, ROWS, x, data, NULL, 0, &scale, NULL), HU_OK);
        hu_quantize_unpack(q, ROWS, data, scale, unpacked);
        assert_int_equal(hu_quantize(q, ROWS, x, rounded, NULL, 0, NULL, NULL), HU_OK);
        assert_memory_equal(rounded, unpacked, sizeof rounded);
        assert_true(scale.zero == -100.0f && fabs((double)scale.factor - step) < 1e-6 * step);
        assert_true(rounded[0] == -100.0f && fabsf(rounded[1000] - 150.0f) < 1e-4f);
        for (int i = 0; i < N; i++)
            assert_true(fabs((double)rounded[i] - (double)x[i]) <= step / 2 + 1e-4);
        hu_quantization_close(q);
    }
}

/* The largest number becomes the largest of the format, whatever its exponent. */
static void a_current_scale_follows_the_maximum(void **state) {
    (void)state;
    hu_quantization *q = open_text("e4m3fn:scale=current");
    for (int shift = -30; shift <= 30; shift += 10) {
        hu_array_scale scale;
        memset(x, 0, sizeof x);
        x[3] = ldexpf(448.0f, shift);
        x[4] = ldexpf(1.0f, shift);
        assert_int_equal(hu_quantize(q, ROWS, x, rounded, NULL, 0, &scale, NULL), HU_OK);
        assert_int_equal(scale.exponent, shift);
        assert_true(rounded[3] == x[3] && rounded[4] == x[4]);
    }
    hu_quantization_close(q);
}

static void refuses(const char *text, int64_t line, hu_status status, const char *word) {
    hu_quantization *made;
    assert_int_equal(hu_quantization_open(text, HU_ROUND_NEAREST_EVEN, line, &made), status);
    assert_null(made);
    if (!strstr(hu_last_error(), word)) fail_msg("no '%s' in: %s", word, hu_last_error());
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    refuses("e4m3fm", LINE, HU_ERR_UNKNOWN, "e4m3fn");
    refuses("e4m3fn:scale=delayed", LINE, HU_ERR_UNSUPPORTED, "delayed");
    refuses("e4m3fn", 0, HU_ERR_ARGUMENT, "line");
    refuses("uniform8:channel", LINE, HU_ERR_UNSUPPORTED, "uniform8 alone");
    refuses("uniform8:running", LINE, HU_ERR_UNSUPPORTED, "uniform8 alone");
    refuses("uniform8 rz", LINE, HU_ERR_PARSE, "rne or sr");
    refuses("e4m3fn", -1, HU_ERR_ARGUMENT, "line: found -1 elements, expected at least 1");
    static const char *const random[] = {"e5m2 sr", "mxfp8 sr", "uniform4 sr"};
    for (size_t t = 0; t < 3; t++) {
        hu_array_scale scale = {9, 9, 9};
        hu_quantization *q = open_text(random[t]);
        memset(data, 0x33, sizeof data);
        rounded[0] = 7.0f;
        assert_int_equal(hu_quantize(q, ROWS, x, rounded, NULL, 0, NULL, NULL), HU_ERR_ARGUMENT);
        assert_int_equal(hu_quantize_pack(q, ROWS, x, data, NULL, 0, &scale, NULL),
                         HU_ERR_ARGUMENT);
        assert_non_null(strstr(hu_last_error(), "found no random key"));
        assert_true(rounded[0] == 7.0f && data[0] == 0x33);
        assert_true(scale.exponent == 0 && scale.factor == 1.0f && scale.zero == 0.0f);
        hu_quantization_close(q);
    }
    hu_quantization *q = open_text("fp32 sr"); /* nothing is rounded */
    assert_int_equal(hu_quantize(q, ROWS, x, rounded, NULL, 0, NULL, NULL), HU_OK);
    assert_memory_equal(rounded, x, sizeof x);
    hu_quantization_close(q);
    assert_int_equal(hu_quantization_open("e4m3fn", HU_ROUND_NEAREST_EVEN, 1, &q), HU_OK);
    hu_quantization_close(q);
}

/* Sizes that wrap are no small ones. */
static void sizes_that_do_not_fit_are_told(void **state) {
    static const char *const texts[] = {"fp32", "bf16", "e3m3", "mxfp4", "nvfp4", "uniform5"};
    (void)state;
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        hu_quantization *q;
        hu_array_scale scale;
        float one[1] = {1};
        refuses(texts[t], (int64_t)1 << 62, HU_ERR_ARGUMENT, "line: found 4611686018427387904");
        assert_int_equal(
            hu_quantization_open(texts[t], HU_ROUND_NEAREST_EVEN, (int64_t)1 << 40, &q), HU_OK);
        assert_true(hu_quantized_bytes(q, (int64_t)1 << 24) == SIZE_MAX);
        assert_true(hu_quantized_bytes(q, INT64_MAX) == SIZE_MAX);
        assert_true(hu_quantized_bytes(q, 1) <= (size_t)4 << 40);
        assert_int_equal(hu_quantize(q, (int64_t)1 << 24, one, one, NULL, 0, NULL, NULL),
                         HU_ERR_ARGUMENT);
        assert_int_equal(hu_quantize_pack(q, INT64_MAX, one, one, NULL, 0, &scale, NULL),
                         HU_ERR_ARGUMENT);
        assert_non_null(strstr(hu_last_error(), "rows: found 9223372036854775807 lines"));
        hu_quantization_close(q);
    }
    hu_format bf16 = {.exp_bits = 8, .man_bits = 7, .subnormals = 1, .bias = 127};
    assert_true(hu_packed_bytes(SIZE_MAX, &bf16, 16) == SIZE_MAX);
    assert_true(hu_packed_bytes(SIZE_MAX, &bf16, 0) == SIZE_MAX);
    assert_true(hu_packed_bytes(SIZE_MAX / 2, &bf16, 16) == SIZE_MAX - 1);
}

/* Scales come from files, too. */
static void scales_that_no_array_has_change_nothing(void **state) {
    (void)state;
    static const char *const texts[] = {"e5m2", "fp16", "e4m3fn:scale=current"};
    static const int32_t exponents[] = {300, -300, INT32_MAX, INT32_MIN};
    unsigned char codes[2 * 8] = {1, 2, 3, 4};
    for (size_t i = 0; i < 3 * 4; i++) {
        hu_quantization *q;
        float y[8] = {7, 7, 7, 7, 7, 7, 7, 7};
        assert_int_equal(hu_quantization_open(texts[i / 4], HU_ROUND_NEAREST_EVEN, 8, &q), HU_OK);
        hu_quantize_unpack(q, 1, codes, (hu_array_scale){exponents[i % 4], 1, 0}, y);
        for (int k = 0; k < 8; k++) assert_true(y[k] == 7);
        hu_quantization_close(q);
    }
}

static void what_shares_a_scale_is_told(void **state) {
    static const struct {
        const char *text;
        hu_quantization_tile tile;
    } rows[] = {{"e4m3fn", {1, 1, 0}},
                {"nf4", {1, 1, 0}},
                {"e4m3fn:scale=current", {1, 1, 1}},
                {"uniform8", {1, 1, 1}},
                {"mxfp8", {1, 32, 0}},
                {"nvfp4", {1, 16, 1}},
                {"nvfp4:tile=16x16", {16, 16, 1}},
                {"e4m3fn:tile=1x128:scale=f32", {1, 128, 0}},
                {"e4m3fn:tile=128x8:scale=f32", {128, 8, 0}},
                {"mxfp4:hadamard=64", {1, 64, 0}},
                {"nvfp4:eden=64", {1, 64, 1}}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hu_quantization *q = open_text(rows[i].text);
        hu_quantization_tile found = hu_quantization_tile_of(q), expected = rows[i].tile;
        if (found.lines != expected.lines || found.elements != expected.elements ||
            found.needs_array != expected.needs_array)
            fail_msg("%s: %lld x %lld, %d", rows[i].text, (long long)found.lines,
                     (long long)found.elements, found.needs_array);
        hu_quantization_close(q);
    }
}

static void texts_are_printed_back(void **state) {
    char text[128];
    (void)state;
    hu_quantization *q = open_text("e4m3fn:scale=current sr");
    hu_quantization_print(q, text, sizeof text);
    assert_non_null(strstr(text, "scale=current"));
    hu_quantization_close(q);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unpacking_gives_the_rounded_numbers),
        cmocka_unit_test(arrays_take_the_bytes_of_their_codes),
        cmocka_unit_test(places_and_parts_change_nothing),
        cmocka_unit_test(scales_are_told),
        cmocka_unit_test(what_shares_a_scale_is_told),
        cmocka_unit_test(a_plain_format_is_plain_rounding),
        cmocka_unit_test(uniform_integers_span_the_array),
        cmocka_unit_test(a_current_scale_follows_the_maximum),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(sizes_that_do_not_fit_are_told),
        cmocka_unit_test(scales_that_no_array_has_change_nothing),
        cmocka_unit_test(texts_are_printed_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
