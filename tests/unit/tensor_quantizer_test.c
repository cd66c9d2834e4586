/* Texts of quantisers: what they mean, how they print, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdint.h>
#include <string.h>

#include "tensor/quantizer.h"

static hu_quantizer parsed(const char *text) {
    hu_quantizer q;
    if (hu_quantizer_parse(text, HU_ROUND_NEAREST_EVEN, &q) != HU_OK)
        fail_msg("%s: %s", text, hu_last_error());
    return q;
}

static void test_print(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"fp32", "float32"},
        {"e4m3fn", "e4m3fn"},
        {"E4M3FN:OVF=SAT sr", "e4m3fn:ovf=sat"},
        {"e4m3fn:scale=current", "e4m3fn:ovf=sat:scale=current"},
        {"e4m3fn:SCALE=Current:ovf=nan", "e4m3fn:ovf=nan:scale=current"},
        {"e4m3fn:ovf=sat:scale=delayed", "e4m3fn:ovf=sat:scale=delayed16"},
        {"e5m2:scale=delayed1 rna", "e5m2:ovf=sat:scale=delayed1"},
        {"fp(4,3,4):scale=bias", "fp(4,3,4):scale=bias"},
        {"fp(4, 3, 4):scale=bias sr", "fp(4,3,4):scale=bias"},
        {"1/6/9/n:scale=bias", "1/6/9/n:ovf=sat:scale=bias"},
        {"e4m3fn:scale=2^-4", "e4m3fn:bias=11"},
        {"e4m3fn:bias=11:scale=2^4", "e4m3fn"},
        {"MXFP8 sr", "mxfp8"},
        {"mxfp8e4m3", "mxfp8e4m3"},
        {"mxfp8:scale=floor", "mxfp8"},
        {"MXFP4:Scale=RCEIL sr", "mxfp4:scale=rceil"},
        {"mxint8:scale=even", "mxint8:scale=even"},
        {"mxfp6e2m3:scale=ceil", "mxfp6e2m3:scale=ceil"},
        {"nvfp4", "nvfp4"},
        {"uniform8", "uniform8"},
        {"Uniform2:Channel sr", "uniform2:channel"},
        {"uniform16:running rne", "uniform16:running"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char text[HU_QUANTIZER_BYTES];
        hu_quantizer q = parsed(rows[r][0]), again;
        hu_quantizer_print(&q, text, sizeof text);
        assert_string_equal(text, rows[r][1]);
        if (!hu_quantizer_rounds(&q)) continue;
        again = parsed(text);
        assert_true(hu_quantizer_same_numbers(&q, &again));
    }
}

static void test_meaning(void **state) {
    (void)state;
    hu_quantizer q = parsed("e4m3fn:scale=delayed7 sr");
    assert_int_equal(q.kind, HU_QUANTIZER_FLOAT);
    assert_int_equal(q.scale, HU_SCALE_DELAYED);
    assert_int_equal(q.history, 7);
    assert_int_equal(q.rounding, HU_ROUND_STOCHASTIC);
    assert_int_equal(q.format.overflow, HU_OVERFLOW_SAT);
    assert_false(hu_quantizer_needs_maximum(&q));
    q = parsed("fp(4,3,0):scale=bias");
    assert_true(hu_quantizer_needs_maximum(&q));
    q = parsed("mxfp6e2m3 rd");
    assert_int_equal(q.kind, HU_QUANTIZER_BLOCK);
    assert_int_equal(q.rounding, HU_ROUND_DOWN);
    assert_int_equal(hu_format_bits(&q.format), 6);
    assert_false(hu_quantizer_needs_maximum(&q));
    q = parsed("nvfp4");
    assert_true(hu_quantizer_needs_maximum(&q));
    hu_quantizer a = parsed("mxfp8"), b = parsed("mxfp8e4m3"), c = parsed("mxfp8e5m2");
    assert_true(hu_quantizer_same_numbers(&a, &b));
    assert_false(hu_quantizer_same_numbers(&a, &c));
    a = parsed("mxfp8:scale=ceil");
    assert_false(hu_quantizer_same_numbers(&a, &b));
    b = parsed("mxfp8e4m3:scale=ceil rd");
    assert_true(hu_quantizer_same_numbers(&a, &b));
    a = parsed("e5m2:scale=current");
    b = parsed("e5m2:ovf=sat");
    c = parsed("e5m2:scale=current sr");
    assert_false(hu_quantizer_same_numbers(&a, &b));
    assert_true(hu_quantizer_same_numbers(&a, &c));
}

static void test_uniform(void **state) {
    (void)state;
    hu_quantizer q = parsed("uniform4:channel sr"), other = parsed("uniform4:channel");
    assert_int_equal(q.kind, HU_QUANTIZER_UNIFORM);
    assert_int_equal(q.bits, 4);
    assert_int_equal(hu_quantizer_bits(&q), 4);
    assert_int_equal(q.rounding, HU_ROUND_STOCHASTIC);
    assert_true(q.per_channel && !q.keeps_range);
    assert_true(hu_quantizer_needs_range(&q));
    assert_false(hu_quantizer_needs_maximum(&q));
    assert_true(hu_quantizer_same_numbers(&q, &other));
    q = parsed("uniform4:running");
    assert_true(q.keeps_range && !q.per_channel);
    assert_false(hu_quantizer_same_numbers(&q, &other));
    other = parsed("uniform5:running");
    assert_false(hu_quantizer_same_numbers(&q, &other));
    other = parsed("nvfp4");
    assert_false(hu_quantizer_needs_range(&other));
    /* The mode of the key precision.rounding counts as well. */
    assert_int_equal(hu_quantizer_parse("uniform4", HU_ROUND_UP, &q), HU_ERR_PARSE);
    assert_int_equal(hu_quantizer_parse("uniform4 sr", HU_ROUND_UP, &q), HU_OK);
    hu_format format;
    assert_int_equal(hu_plain_format_parse("uniform4", &format), HU_ERR_PARSE);
    assert_non_null(strstr(hu_last_error(), "uniform integers"));
}

static void test_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        hu_status status;
        const char *word;
    } rows[] = {
        {"mxfp5", HU_ERR_UNKNOWN, "mxfp8"},
        {"e4m3fm", HU_ERR_UNKNOWN, "e4m3fn"},
        {"mxfp8:scale=current", HU_ERR_PARSE, "their own"},
        {"mxfp8:ovf=sat", HU_ERR_UNKNOWN, "mxfp8"},
        {"fp32:scale=current", HU_ERR_PARSE, "not rounded"},
        {"e5m2:scale=", HU_ERR_PARSE, "column 12"},
        {"e5m2:scale=delayed1025", HU_ERR_PARSE, "1..1024"},
        {"e5m2:scale=delayed-1", HU_ERR_PARSE, "1..1024"},
        {"e5m2:scale=current1", HU_ERR_PARSE, "current1"},
        {"e5m2:scale=2^+-3", HU_ERR_PARSE, "2^+-3"},
        {"e5m2:scale=2^-999", HU_ERR_PARSE, "2^-999"},
        {"e5m2:scale=2^", HU_ERR_PARSE, "found '2^'"},
        {"e5m2:scale=2^3x", HU_ERR_PARSE, "found '2^3x'"},
        {"e5m2:scale=2^200", HU_ERR_FORMAT, "2^200"},
        {"e5m2:scale=bias:scale=bias", HU_ERR_PARSE, "twice"},
        {"e5m2:scale=bias up", HU_ERR_UNKNOWN, "up"},
        {"", HU_ERR_PARSE, "name"},
        {"uniform1", HU_ERR_PARSE, "2..16"},
        {"uniform17", HU_ERR_PARSE, "column 8: found '17'"},
        {"uniform8x", HU_ERR_PARSE, "8x"},
        {"uniform:channel", HU_ERR_PARSE, "2..16"},
        {"uniform8:channels", HU_ERR_PARSE, "column 10: found 'channels'"},
        {"uniform8:channel:running", HU_ERR_PARSE, "channel or running"},
        {"uniform8:scale=current", HU_ERR_PARSE, "found a scale"},
        {"uniform8 rz", HU_ERR_PARSE, "rz, expected rne or sr"},
        {"uniform8 sr:bits=8", HU_ERR_PARSE, "sr:bits=8, expected rne or sr"},
        {"e5m2 sr:bits=40", HU_ERR_PARSE, "random bits, 1..32"},
        {"e4m3fn:ovf=propagate", HU_ERR_FORMAT, "without infinities it is ovf=sat"},
        {"uniform", HU_ERR_UNKNOWN, "unknown"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        hu_quantizer q;
        memset(&q, 1, sizeof q);
        hu_status st = hu_quantizer_parse(rows[r].text, HU_ROUND_NEAREST_EVEN, &q);
        if (st != rows[r].status || !strstr(hu_last_error(), rows[r].word))
            fail_msg("'%s': status %d, %s", rows[r].text, (int)st, hu_last_error());
        assert_int_equal(q.kind, HU_QUANTIZER_NONE);
    }
}

/* Bits in memory: one more where an infinity without a code lives on, 32 where a scale moves it. */
static void test_code_bits(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t bits, code_bits;
    } rows[] = {{"e4m3fn", 8, 8},
                {"fp32", 32, 32},
                {"mxfp4", 4, 4},
                {"uniform5", 5, 5},
                {"fp(5,2,0):ovf=inf:nan=ovf", 8, 9},
                {"fp(5,2,0):ovf=inf:nan=ovf:scale=current", 8, 32},
                {"fp(5,2,0):scale=current", 8, 8}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        hu_quantizer q = parsed(rows[r].text);
        assert_int_equal(hu_quantizer_bits(&q), rows[r].bits);
        assert_int_equal(hu_quantizer_code_bits(&q), rows[r].code_bits);
    }
}

/* Only what is float32 in every field passes without being rounded. */
static void test_float32(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool rounds;
    } rows[] = {{"fp32", false},         {"e8m23", false},      {"e8m23:ovf=inf", false},
                {"e8m23:ovf=sat", true}, {"e8m23:sub=n", true}, {"e8m22", true},
                {"e7m23", true},         {"e8m0", true}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        hu_quantizer q = parsed(rows[r].text);
        if (hu_quantizer_rounds(&q) != rows[r].rounds) fail_msg("%s", rows[r].text);
    }
}

static void test_modes(void **state) {
    (void)state;
    hu_quantizer uniform = parsed("uniform8"), block = parsed("mxfp8"), plain = parsed("e5m2");
    for (int mode = 0; mode < HU_ROUND_COUNT; mode++) {
        bool is_known = mode == HU_ROUND_NEAREST_EVEN || mode == HU_ROUND_STOCHASTIC;
        assert_int_equal(hu_quantizer_knows_mode(&uniform, (hu_rounding)mode), is_known);
        assert_true(hu_quantizer_knows_mode(&block, (hu_rounding)mode));
        assert_true(hu_quantizer_knows_mode(&plain, (hu_rounding)mode));
    }
}

/* What two texts have in common: kind, format, scale and its history. */
static void test_same_numbers(void **state) {
    (void)state;
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {{"e5m2", "e5m2 sr", true},
                {"e5m2", "e5m3", false},
                {"e5m2", "mxfp8e5m2", false},
                {"e5m2:scale=delayed3", "e5m2:scale=delayed3 rz", true},
                {"e5m2:scale=delayed3", "e5m2:scale=delayed4", false},
                {"e5m2:scale=current", "e5m2:scale=bias", false},
                {"uniform4", "uniform4 sr", true},
                {"uniform4", "uniform4:channel", false},
                {"uniform4", "uniform4:running", false},
                {"uniform4", "uniform5", false},
                {"mxfp8e5m2", "mxfp8e4m3", false},
                {"fp32", "fp32", true}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        hu_quantizer a = parsed(rows[r].a), b = parsed(rows[r].b);
        if (hu_quantizer_same_numbers(&a, &b) != rows[r].same ||
            hu_quantizer_same_numbers(&b, &a) != rows[r].same)
            fail_msg("%s, %s", rows[r].a, rows[r].b);
    }
}

/* Messages point at the value, from 1, whatever stands around the scale. */
static void test_columns(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"e5m2:scale=x", "format 'e5m2:scale=x', column 12: found 'x', expected current, delayed"},
        {"e5m2:ovf=sat:scale=delayed0", "column 20: found 'delayed0', expected a number of steps"},
        {"e5m2:scale=2^400", "column 12: found '2^400'"},
        {"e5m2:scale=2^301", "column 12: found '2^301', expected current"},
        {"e5m2:scale=2^-301", "column 12: found '2^-301', expected current"},
        {"e5m2:scale=2^300", "column 12: scale 2^300: bias"},
        {"e5m2:scale=2^-300", "column 12: scale 2^-300: bias"},
        {"fp32:scale=bias", "column 12: found a scale"},
        {"mxfp8:scale=bias", "column 13: found 'bias', expected floor, ceil, rceil or even"},
        {"nvfp4:scale=ceil", "column 13: found a scale, expected none: the blocks of nvfp4"},
        {"uniform4:scale=bias", "column 16: found a scale"},
        {"uniform4:running2", "column 10: found 'running2'"},
        {"e5m2:scale=bias:scale=", "format 'e5m2:scale=bias:scale=': 'scale=' is given twice"},
        {"uniform:", "column 8: found ':', expected bits 2..16"}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        hu_quantizer q;
        assert_true(hu_quantizer_parse(rows[r][0], HU_ROUND_NEAREST_EVEN, &q) != HU_OK);
        if (!strstr(hu_last_error(), rows[r][1]))
            fail_msg("'%s': %s, expected %s", rows[r][0], hu_last_error(), rows[r][1]);
    }
}

/* Texts up to the room that they have; one character more is an error and nothing is written. */
static void test_lengths(void **state) {
    (void)state;
    char text[HU_QUANTIZER_BYTES + 8];
    hu_quantizer q;
    memset(text, '0', sizeof text);
    memcpy(text, "e5m", 3);
    strcpy(text + HU_QUANTIZER_BYTES - 2, "2");
    assert_int_equal(hu_quantizer_parse(text, HU_ROUND_NEAREST_EVEN, &q), HU_OK);
    assert_int_equal(q.format.man_bits, 2);
    strcpy(text + HU_QUANTIZER_BYTES - 2, "02");
    assert_int_equal(hu_quantizer_parse(text, HU_ROUND_NEAREST_EVEN, &q), HU_ERR_PARSE);
    assert_non_null(strstr(hu_last_error(), "is longer than 175 characters"));
    assert_int_equal(hu_quantizer_parse("e5m2 0123456789abcdefghijklm", HU_ROUND_UP, &q),
                     HU_ERR_UNKNOWN);
    assert_non_null(strstr(hu_last_error(), "rounding '0123456789abcdefghijklm' is unknown"));
    assert_int_equal(hu_quantizer_parse("e5m2 0123456789abcdefghijklmn", HU_ROUND_UP, &q),
                     HU_ERR_PARSE);
    assert_non_null(strstr(hu_last_error(), "column 5: found ' '"));
    assert_int_equal(hu_quantizer_parse("e5m2", HU_ROUND_UP, &q), HU_OK);
    assert_int_equal(q.rounding, HU_ROUND_UP);
}

/* A plain format is one without mode, blocks, or a scale that a tensor decides. */
static void test_plain(void **state) {
    (void)state;
    static const struct {
        const char *text, *word;
        hu_status status;
    } rows[] = {{"e5m2", NULL, HU_OK},
                {"e5m2:scale=2^3", NULL, HU_OK},
                {"mxfp8", "found a block format", HU_ERR_PARSE},
                {"uniform4", "found uniform integers", HU_ERR_PARSE},
                {"e5m2 rne", "found a rounding mode", HU_ERR_PARSE},
                {"e5m2 sr", "found a rounding mode", HU_ERR_PARSE},
                {"e5m2:scale=current", "found a scale that depends on a tensor", HU_ERR_PARSE},
                {"e5m2:scale=2^x", "column 12: found '2^x'", HU_ERR_PARSE},
                {"uniform99", "expected bits 2..16", HU_ERR_PARSE},
                {"e5m2:ovf=x", "column 10", HU_ERR_PARSE},
                {"e4m3fm", "nearest", HU_ERR_UNKNOWN}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        hu_format format;
        hu_status st = hu_plain_format_parse(rows[r].text, &format);
        if (st != rows[r].status || (st != HU_OK && !strstr(hu_last_error(), rows[r].word)))
            fail_msg("'%s': status %d, %s", rows[r].text, (int)st, hu_last_error());
        if (r < 2) assert_int_equal(format.bias, r ? 12 : 15);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_print),     cmocka_unit_test(test_meaning),
        cmocka_unit_test(test_uniform),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_code_bits), cmocka_unit_test(test_float32),
        cmocka_unit_test(test_modes),     cmocka_unit_test(test_same_numbers),
        cmocka_unit_test(test_columns),   cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
