#include <halfulp/format.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "format/draft.h"

static hu_format parsed(const char *text) {
    hu_format format;
    if (hu_format_parse(text, &format) != HU_OK) fail_msg("'%s': %s", text, hu_last_error());
    return format;
}

static void assert_fields(const char *text, int e, int m, int bias, int specials, int sub,
                          int overflow) {
    hu_format f = parsed(text);
    if (f.exp_bits != e || f.man_bits != m || f.bias != bias || f.specials != specials ||
        f.subnormals != sub || f.overflow != overflow)
        fail_msg("%s: (%d,%d,%d) specials %d sub %d ovf %d", text, f.exp_bits, f.man_bits,
                 (int)f.bias, f.specials, f.subnormals, f.overflow);
}

static void assert_fails(const char *text, hu_status status, const char *part) {
    hu_format format, zero = {0};
    memset(&format, 0xFF, sizeof format);
    hu_status st = hu_format_parse(text, &format);
    if (st != status || strstr(hu_last_error(), part) == NULL)
        fail_msg("'%s': status %d, message '%s', expected '%s'", text, st, hu_last_error(), part);
    assert_memory_equal(&format, &zero, sizeof zero);
}

static void named_formats_have_their_fields(void **state) {
    (void)state;
    assert_fields("fp32", 8, 23, 127, HU_SPECIALS_IEEE, 1, HU_OVERFLOW_INF);
    assert_fields("tf32", 8, 10, 127, HU_SPECIALS_IEEE, 1, HU_OVERFLOW_INF);
    assert_fields("BF16", 8, 7, 127, HU_SPECIALS_IEEE, 1, HU_OVERFLOW_INF);
    assert_fields("fp16", 5, 10, 15, HU_SPECIALS_IEEE, 1, HU_OVERFLOW_INF);
    assert_fields("e5m2", 5, 2, 15, HU_SPECIALS_IEEE, 1, HU_OVERFLOW_INF);
    assert_fields("E4M3FN", 4, 3, 7, HU_SPECIALS_FN, 1, HU_OVERFLOW_NAN);
    assert_fields("e4m3", 4, 3, 7, HU_SPECIALS_IEEE, 1, HU_OVERFLOW_INF);
    assert_fields("e5m2fnuz", 5, 2, 16, HU_SPECIALS_FNUZ, 1, HU_OVERFLOW_NAN);
    assert_fields("e4m3fnuz", 4, 3, 8, HU_SPECIALS_FNUZ, 1, HU_OVERFLOW_NAN);
    assert_fields("e4m3b11fnuz", 4, 3, 11, HU_SPECIALS_FNUZ, 1, HU_OVERFLOW_NAN);
    assert_fields("e3m4", 3, 4, 3, HU_SPECIALS_IEEE, 1, HU_OVERFLOW_INF);
    assert_fields("e3m2", 3, 2, 3, HU_SPECIALS_FIN, 1, HU_OVERFLOW_SAT);
    assert_fields("e2m3", 2, 3, 1, HU_SPECIALS_FIN, 1, HU_OVERFLOW_SAT);
    assert_fields("e2m1", 2, 1, 1, HU_SPECIALS_FIN, 1, HU_OVERFLOW_SAT);
    assert_fields("1/6/9/d", 6, 9, 31, HU_SPECIALS_IEEE, 1, HU_OVERFLOW_INF);
    assert_fields("1/6/9", 6, 9, 31, HU_SPECIALS_IEEE, 1, HU_OVERFLOW_INF);
    assert_fields("1/6/9/n", 6, 9, 31, HU_SPECIALS_IEEE, 0, HU_OVERFLOW_INF);
    assert_fields("fp(4,3,4)", 4, 3, 11, HU_SPECIALS_FIN, 1, HU_OVERFLOW_SAT);
}

static void spelled_out_formats_have_their_defaults(void **state) {
    (void)state;
    assert_fields("e6m9", 6, 9, 31, HU_SPECIALS_IEEE, 1, HU_OVERFLOW_INF);
    assert_fields("e2m0", 2, 0, 1, HU_SPECIALS_IEEE, 1, HU_OVERFLOW_INF);
    assert_fields("1/5/10/n", 5, 10, 15, HU_SPECIALS_IEEE, 0, HU_OVERFLOW_INF);
    assert_fields("fp(5,2,0)", 5, 2, 15, HU_SPECIALS_FIN, 1, HU_OVERFLOW_SAT);
    assert_fields("fp( 6, 9 ,-2 )", 6, 9, 29, HU_SPECIALS_FIN, 1, HU_OVERFLOW_SAT);
    assert_fields("fp(1,2,+1)", 1, 2, 1, HU_SPECIALS_FIN, 1, HU_OVERFLOW_SAT);
}

static void options_change_fields_and_specials_bring_their_overflow(void **state) {
    (void)state;
    assert_fields("e4m3fn:ovf=sat", 4, 3, 7, HU_SPECIALS_FN, 1, HU_OVERFLOW_SAT);
    assert_fields("e5m2:bias=16:specials=fnuz", 5, 2, 16, HU_SPECIALS_FNUZ, 1, HU_OVERFLOW_NAN);
    assert_fields("e5m2:specials=fin", 5, 2, 15, HU_SPECIALS_FIN, 1, HU_OVERFLOW_SAT);
    assert_fields("e5m2:ovf=inf:specials=fin", 5, 2, 15, HU_SPECIALS_FIN, 1, HU_OVERFLOW_INF);
    assert_fields("E3M2:Specials=IEEE", 3, 2, 3, HU_SPECIALS_IEEE, 1, HU_OVERFLOW_INF);
    assert_fields("fp(4,3,4):ovf=inf:sub=n", 4, 3, 11, HU_SPECIALS_FIN, 0, HU_OVERFLOW_INF);
    assert_fields("fp16:sub=n:bias=-3", 5, 10, -3, HU_SPECIALS_IEEE, 0, HU_OVERFLOW_INF);
    assert_fields("1/6/9/n:sub=d", 6, 9, 31, HU_SPECIALS_IEEE, 1, HU_OVERFLOW_INF);
    assert_fields("1/6/9/n:sub=nearest", 6, 9, 31, HU_SPECIALS_IEEE, 0, HU_OVERFLOW_INF);
    assert_fields("FP(4,3,4):NaN=Ovf", 4, 3, 11, HU_SPECIALS_FIN, 1, HU_OVERFLOW_SAT);
}

static void underflow_and_nan_have_their_options(void **state) {
    (void)state;
    assert_int_equal(parsed("1/6/9/n").underflow, HU_UNDERFLOW_FLUSH);
    assert_int_equal(parsed("1/6/9/n:sub=nearest").underflow, HU_UNDERFLOW_NEAREST);
    assert_int_equal(parsed("fp(4,3,4)").nan, HU_NAN_STAYS);
    assert_int_equal(parsed("fp(4,3,4):nan=nan").nan, HU_NAN_STAYS);
    assert_int_equal(parsed("fp(4,3,4):nan=ovf").nan, HU_NAN_OVERFLOWS);
    assert_int_equal(parsed("e5m2:nan=ovf:specials=fin").nan, HU_NAN_OVERFLOWS);
}

static void malformed_names_are_rejected_with_their_column(void **state) {
    (void)state;
    assert_fails("", HU_ERR_PARSE, "column 1: found the end, expected the name of a format");
    assert_fails(":sub=d", HU_ERR_PARSE, "column 1");
    assert_fails("e5", HU_ERR_PARSE, "column 3: found the end");
    assert_fails("e5x", HU_ERR_PARSE, "column 3: found 'x'");
    assert_fails("e5m", HU_ERR_PARSE, "column 4: found the end, expected the number of mantissa");
    assert_fails("e5m2+", HU_ERR_PARSE, "column 5: found '+'");
    assert_fails("e5m2\n", HU_ERR_PARSE, "column 5: found byte 0x0a");
    assert_fails("2/6/9", HU_ERR_PARSE, "column 1: found '2'");
    assert_fails("1/6", HU_ERR_PARSE, "column 4");
    assert_fails("1/6/9/x", HU_ERR_PARSE, "column 7: found 'x', expected 'd'");
    assert_fails("1/6/9/dd", HU_ERR_PARSE, "column 8: found 'd', expected ':' or the end");
    assert_fails("fp(4,3)", HU_ERR_PARSE, "column 7: found ')', expected a digit or ','");
    assert_fails("fp(4,3,4", HU_ERR_PARSE, "column 9: found the end, expected a digit or ')'");
    assert_fails("fp(4,3,)", HU_ERR_PARSE, "column 8");
    assert_fails("fp16:", HU_ERR_PARSE, "column 6: found the end, expected 'bias='");
    assert_fails("fp16:round=rz", HU_ERR_PARSE, "column 6: found 'r'");
    assert_fails("fp16:sub=x", HU_ERR_PARSE,
                 "column 10: found 'x', expected 'd', 'n' or 'nearest'");
    assert_fails("e2m1:nan=x", HU_ERR_PARSE, "column 10: found 'x', expected 'nan' or 'ovf'");
    assert_fails("e2m1:sub=nearer", HU_ERR_PARSE, "column 10: found 'n', expected 'd'");
    assert_fails("fp16:ovf=satt", HU_ERR_PARSE, "column 10: found 's', expected 'inf'");
    assert_fails("fp16:bias=", HU_ERR_PARSE, "column 11");
    assert_fails("fp16:bias=1x", HU_ERR_PARSE, "column 12: found 'x', expected ':' or the end");
    assert_fails("fp16:sub=d:sub=d", HU_ERR_PARSE, "column 12: 'sub=' is given twice");
}

static void overlong_names_are_rejected(void **state) {
    (void)state;
    char text[400];
    memset(text, '9', sizeof text - 1);
    text[0] = 'e';
    text[sizeof text - 1] = '\0';
    assert_fails(text, HU_ERR_PARSE, "at most 175 characters");
    assert_fails(text, HU_ERR_PARSE, "column 176: the name goes on");
    text[127] = '\0';
    text[125] = 'm';
    assert_fails(text, HU_ERR_FORMAT, "column 2: found a number of more than 15 digits");
    assert_fails("e4m3:bias=2147483647", HU_ERR_FORMAT, "column 11: bias 2147483647, allowed");
    assert_fails("e4m3:bias=-1000001", HU_ERR_FORMAT, "column 11: bias -1000001, allowed");
    assert_fails("e4m3:bias=-9999999999999999", HU_ERR_FORMAT, "column 11: found a number of more");
    assert_fails("fp(4,3,999999999999999)", HU_ERR_FORMAT, "bias 1000000000000006, allowed");
    assert_int_equal(hu_format_parse("e4m3:bias=0000000000000000000011", &(hu_format){0}), HU_OK);
}

static void unknown_names_are_answered_with_the_nearest(void **state) {
    (void)state;
    assert_fails("fp17", HU_ERR_UNKNOWN, "'fp17' is unknown; nearest: 'fp16', ");
    assert_fails("bf61", HU_ERR_UNKNOWN, "nearest: 'bf16', ");
    assert_fails("e4m3fnu", HU_ERR_UNKNOWN, "'e4m3fn', 'e4m3fnuz' or ");
    assert_fails("e5m2fn", HU_ERR_UNKNOWN, "nearest: ");
    assert_fails("half", HU_ERR_UNKNOWN, "expected fp16");
}

/* Every name that other programs have for formats, in any case, says what is meant here. */
static void names_of_other_programs_are_answered_with_ours(void **state) {
    (void)state;
    static const char *const rows[][2] = {{"fp8", "e4m3fn or e5m2 (OCP's)"},
                                          {"Float8", "e4m3fn or e5m2 (OCP's)"},
                                          {"f8", "or the precision hfp8"},
                                          {"ofp8", "e4m3fn or e5m2 (OCP's)"},
                                          {"FP6", "e3m2 or e2m3 (OCP's)"},
                                          {"float6", "or mxfp6e3m2 in blocks"},
                                          {"fp4", "e2m1 (OCP's), or mxfp4"},
                                          {"float4", "mxfp4 or nvfp4 in blocks"},
                                          {"int2", "expected uniform2"},
                                          {"int4", "expected uniform4"},
                                          {"int8", "expected uniform8, or mxint8 in blocks"},
                                          {"INT16", "expected uniform16"},
                                          {"bfloat16", "expected bf16"},
                                          {"bfloat", "expected bf16"},
                                          {"half", "expected fp16"},
                                          {"float16", "expected fp16"},
                                          {"f16", "expected fp16"},
                                          {"amp", "expected fp16 or bf16, with scaler=dynamic"},
                                          {"mixed", "expected fp16 or bf16, with scaler=dynamic"},
                                          {"TensorFloat32", "expected tf32"},
                                          {"float", "expected fp32"},
                                          {"float32", "expected fp32"},
                                          {"f32", "expected fp32"},
                                          {"single", "expected fp32"},
                                          {"fp64", "expected fp32, the widest"},
                                          {"float64", "expected fp32, the widest"},
                                          {"double", "expected fp32, the widest"},
                                          {"float8_e4m3fn", "saturates: e4m3fn:ovf=sat"},
                                          {"fp8_e4m3", "expected e4m3fn (its codes"},
                                          {"FLOAT8_E5M2", "expected e5m2"},
                                          {"float8_e4m3fnuz", "expected e4m3fnuz"},
                                          {"float4_e2m1fn_x2", "expected e2m1"},
                                          {"mxfp6", "expected mxfp6e3m2 or mxfp6e2m3"},
                                          {"binary16", "expected fp16"},
                                          {"unum3", "expected a float (e4m3fn), integers"},
                                          {"posit", "expected positN, N = 3..16"},
                                          {"binary8", "expected binaryKpP and s or u, e or f"},
                                          {"hifloat8", "expected hif8"},
                                          {"takum", "expected takumN or takumlogN"},
                                          {"nf3", "expected nf4, or table:FILE"},
                                          {"LNS", "expected lnsN, N = 3..16"},
                                          {"ternary2", "expected ternary (-1, 0, 1)"},
                                          {"bfp8", "mxint8 or mxfp8"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_fails(rows[i][0], HU_ERR_UNKNOWN, rows[i][1]);
    assert_fails("float128", HU_ERR_UNKNOWN, "'float128' is unknown; nearest: ");
}

static void nine_exponent_bits_are_rejected_with_their_position(void **state) {
    (void)state;
    assert_fails("e9m3", HU_ERR_FORMAT, "format 'e9m3', column 2: exponent bits 9, allowed 1..8");
    assert_fails("fp(9,3,0)", HU_ERR_FORMAT, "column 4: exponent bits 9, allowed 1..8");
    assert_fails("1/9/3", HU_ERR_FORMAT, "column 3: exponent bits 9, allowed 1..8");
    assert_fails("e260m3", HU_ERR_FORMAT, "exponent bits 260, allowed 1..8");
}

static void values_outside_the_space_are_rejected(void **state) {
    (void)state;
    assert_fails("e0m3", HU_ERR_FORMAT, "exponent bits 0, allowed 1..8");
    assert_fails("e1m3", HU_ERR_FORMAT, "exponent bits 1, allowed 2..8 with specials ieee");
    assert_fails("e5m24", HU_ERR_FORMAT, "column 4: mantissa bits 24, allowed 0..23");
    assert_fails("e5m0:specials=fn", HU_ERR_FORMAT, "mantissa bits 0, allowed 1..23");
    assert_fails("e5m0:specials=fnuz", HU_ERR_FORMAT, "mantissa bits 0, allowed 1..23");
    assert_fails("fp(8,7,0)", HU_ERR_FORMAT, "exponent bits 8, allowed 1..7 with specials fin");
    assert_fails("bf16:specials=fn", HU_ERR_FORMAT, "exponent bits 8, allowed 1..7");
    assert_fails("fp32:bias=126", HU_ERR_FORMAT, "column 11: bias 126, allowed 127..127");
    assert_fails("fp16:bias=141", HU_ERR_FORMAT, "bias 141, allowed -97..140");
    assert_fails("fp16:bias=-98", HU_ERR_FORMAT, "bias -98, allowed -97..140");
    assert_fails("e4m3fn:bias=-99999999999999999999", HU_ERR_FORMAT,
                 "column 13: found a number of more than 15 digits");
    assert_int_equal(parsed("fp16:bias=140").bias, 140);
    assert_int_equal(parsed("fp16:bias=-97").bias, -97);
}

static void check_rejects_every_bad_field(void **state) {
    (void)state;
    hu_format good = parsed("e4m3fn"), bad;
    assert_int_equal(hu_format_check(&good), HU_OK);
    bad = good, bad.specials = 4;
    assert_int_equal(hu_format_check(&bad), HU_ERR_FORMAT);
    bad = good, bad.subnormals = 2;
    assert_int_equal(hu_format_check(&bad), HU_ERR_FORMAT);
    bad = good, bad.overflow = 3;
    assert_int_equal(hu_format_check(&bad), HU_ERR_FORMAT);
    bad = good, bad.bias = INT32_MIN;
    assert_int_equal(hu_format_check(&bad), HU_ERR_FORMAT);
    bad = good, bad.reserved = 1;
    assert_int_equal(hu_format_check(&bad), HU_ERR_FORMAT);
    bad = good, bad.underflow = HU_UNDERFLOW_NEAREST; /* with subnormals */
    assert_int_equal(hu_format_check(&bad), HU_ERR_FORMAT);
    bad.subnormals = 0;
    assert_int_equal(hu_format_check(&bad), HU_OK);
    bad.underflow = 2;
    assert_int_equal(hu_format_check(&bad), HU_ERR_FORMAT);
    bad = good, bad.nan = HU_NAN_OVERFLOWS; /* fn has a NaN */
    assert_int_equal(hu_format_check(&bad), HU_ERR_FORMAT);
    assert_non_null(strstr(hu_last_error(), "nan=ovf with specials fn, allowed with fin"));
    bad = parsed("e2m1"), bad.nan = 2;
    assert_int_equal(hu_format_check(&bad), HU_ERR_FORMAT);
    bad = good, bad.table = 1;
    assert_int_equal(hu_format_check(&bad), HU_ERR_FORMAT);
    assert_int_equal(sizeof(hu_format), 16);
}

static void table_rows_are_valid_and_print_their_names(void **state) {
    (void)state;
    assert_int_equal(hu_format_named_count(), 30);
    assert_null(hu_format_named(30, NULL, NULL));
    for (uint32_t i = 0; i < hu_format_named_count(); i++) {
        hu_format format;
        const char *description = NULL;
        const char *name = hu_format_named(i, &format, &description);
        hu_format again = parsed(name);
        char text[64];
        assert_int_equal(hu_format_check(&format), HU_OK);
        assert_true(hu_format_equal(&format, &again));
        assert_int_equal(hu_format_print(&format, text, sizeof text), HU_OK);
        assert_string_equal(text, name);
        assert_true(strlen(description) > 0);
    }
}

/* Every valid format of a grid over all fields prints to a text that parses to itself. */
static void printed_formats_parse_back(void **state) {
    (void)state;
    static const int biases[] = {-20, 0, 1, 3, 7, 8, 11, 15, 16, 31, 127};
    unsigned seen = 0;
    for (unsigned i = 0; i < 8u * 24 * 4 * 3 * 3 * 2 * 11; i++) {
        unsigned rest = i;
        hu_format f = {0}, back;
        char text[64];
        f.exp_bits = (uint8_t)(1 + rest % 8), rest /= 8;
        f.man_bits = (uint8_t)(rest % 24), rest /= 24;
        f.specials = (uint8_t)(rest % 4), rest /= 4;
        f.subnormals = rest % 3 == 1, f.underflow = rest % 3 == 2, rest /= 3;
        f.overflow = (uint8_t)(rest % 3), rest /= 3;
        f.nan = (uint8_t)(rest % 2), rest /= 2;
        f.bias = biases[rest];
        if (hu_format_check(&f) != HU_OK) {
            assert_int_equal(hu_format_print(&f, text, sizeof text), HU_ERR_FORMAT);
            continue;
        }
        seen++;
        assert_int_equal(hu_format_print(&f, text, sizeof text), HU_OK);
        back = parsed(text);
        if (!hu_format_equal(&f, &back)) fail_msg("%s is another format", text);
    }
    assert_true(seen > 10000);
}

static void canonical_spellings_are_as_documented(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"e5m10", "fp16"},
        {"1/6/9", "1/6/9/d"},
        {"e6m9:sub=n", "1/6/9/n"},
        {"fp(2,1,0)", "e2m1"},
        {"e5m2:specials=fin", "fp(5,2,0)"},
        {"e3m2:specials=ieee", "e3m2:specials=ieee"},
        {"e4m3:ovf=nan:bias=7:specials=fn", "e4m3fn"},
        {"e4m3:specials=fn:ovf=sat", "e4m3fn:ovf=sat"},
        {"1/6/9:ovf=sat:sub=n", "1/6/9/n:ovf=sat"},
        {"1/5/4/n", "e5m4:sub=n"},
        {"fp(5,2,0):ovf=inf", "e5m2:specials=fin:ovf=inf"},
        {"fp(4,3,4):ovf=inf", "fp(4,3,4):ovf=inf"},
        {"1/6/9/n:sub=nearest", "e6m9:sub=nearest"},
        {"e8m23:sub=n", "fp32:sub=n"},
        {"fp32:ovf=sat", "fp32:ovf=sat"},
        {"1/4/3/n:sub=nearest:ovf=sat", "e4m3:sub=nearest:ovf=sat"},
        {"fp(4,3,4):nan=ovf", "fp(4,3,4):nan=ovf"},
        {"fp(5,2,0):nan=ovf:ovf=inf", "fp(5,2,0):ovf=inf:nan=ovf"},
        {"fp(6,9,0):nan=ovf", "fp(6,9,0):nan=ovf"},
        {"e2m1:nan=ovf", "e2m1:nan=ovf"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        hu_format format = parsed(pairs[i][0]);
        char text[64];
        assert_int_equal(hu_format_print(&format, text, sizeof text), HU_OK);
        assert_string_equal(text, pairs[i][1]);
        assert_int_equal(hu_format_print(&format, text, 63), HU_ERR_ARGUMENT);
    }
}

/* Too little room: an empty text where one fits, and nothing beyond. */
static void printing_needs_room(void **state) {
    (void)state;
    hu_format format = parsed("fp16");
    char text[66];
    memset(text, 'x', sizeof text);
    assert_int_equal(hu_format_print(&format, text, 0), HU_ERR_ARGUMENT);
    assert_int_equal(text[0], 'x');
    assert_int_equal(hu_format_print(&format, text, 1), HU_ERR_ARGUMENT);
    assert_int_equal(text[0], '\0');
    assert_int_equal(text[1], 'x');
    memset(text, 'x', sizeof text);
    assert_int_equal(hu_format_print(&format, text, 64), HU_OK);
    assert_string_equal(text, "fp16");
}

/* The usual bias and overflow of a width and of specials; 0 for widths that no format has. */
static void defaults_are_those_of_the_definitions(void **state) {
    (void)state;
    static const int64_t biases[] = {0, 0, 1, 3, 7, 15, 31, 63, 127, 0};
    for (int64_t e = 0; e < 10; e++) assert_int_equal(hu_format_default_bias(e), biases[e]);
    assert_int_equal(hu_format_default_bias(-1), 0);
    assert_int_equal(hu_format_default_overflow(HU_SPECIALS_IEEE), HU_OVERFLOW_INF);
    assert_int_equal(hu_format_default_overflow(HU_SPECIALS_FIN), HU_OVERFLOW_SAT);
    assert_int_equal(hu_format_default_overflow(HU_SPECIALS_FN), HU_OVERFLOW_NAN);
    assert_int_equal(hu_format_default_overflow(HU_SPECIALS_FNUZ), HU_OVERFLOW_NAN);
    for (int64_t i = -1; i <= 5; i += 6) {
        assert_null(hu_specials_name(i));
        assert_null(hu_subnormals_name(i));
        assert_null(hu_nan_name(i));
        assert_null(hu_overflow_name(i));
    }
    assert_null(hu_subnormals_name(3));
    assert_null(hu_overflow_name(HU_OVERFLOW_NONE + 1));
    assert_null(hu_nan_name(2));
    assert_string_equal(hu_specials_name(HU_SPECIALS_FNUZ), "fnuz");
    assert_string_equal(hu_overflow_name(HU_OVERFLOW_NAN), "nan");
    assert_string_equal(hu_nan_name(HU_NAN_OVERFLOWS), "ovf");
    assert_string_equal(hu_subnormals_name(2), "nearest");
}

/* Messages of what is checked last point at the field that is wrong, wherever it was said. */
static void checks_name_the_column_of_their_field(void **state) {
    (void)state;
    assert_fails("fp16:nan=ovf", HU_ERR_FORMAT, "column 10: nan=ovf with specials ieee");
    assert_fails("e4m0:ovf=sat:specials=fn", HU_ERR_FORMAT, "column 4: mantissa bits 0");
    assert_fails("fp16:sub=n:bias=200", HU_ERR_FORMAT, "column 17: bias 200");
    assert_fails("fp(4,24,1)", HU_ERR_FORMAT, "column 6: mantissa bits 24");
    assert_fails("fp(4,3,1000)", HU_ERR_FORMAT, "column 8: bias 1007");
    assert_fails("1/5/24/n", HU_ERR_FORMAT, "column 5: mantissa bits 24");
    assert_fails("e5m2:specials=fin:bias=-300:nan=ovf", HU_ERR_FORMAT, "column 24: bias -300");
}

static void rounding_names_go_both_ways(void **state) {
    (void)state;
    static const char *const names[] = {"rne", "rna", "rz", "ru", "rd", "rodd", "sr"};
    for (int i = 0; i < HU_ROUND_COUNT; i++) {
        hu_rounding rounding;
        assert_int_equal(hu_rounding_parse(names[i], &rounding), HU_OK);
        assert_int_equal(rounding, i);
        assert_string_equal(hu_rounding_name((hu_rounding)i), names[i]);
    }
    hu_rounding rounding = HU_ROUND_UP;
    assert_int_equal(hu_rounding_parse("nearest", &rounding), HU_ERR_UNKNOWN);
    assert_int_equal(rounding, HU_ROUND_NEAREST_EVEN);
    assert_string_equal(hu_rounding_name(HU_ROUND_COUNT), "?");
    assert_string_equal(hu_rounding_name((hu_rounding)-1), "?");
    assert_non_null(strstr(hu_last_error(), "rne, rna, rz, ru, rd, rodd, sr"));
}

/* In either order: a field that is larger makes another format as one that is smaller does. */
static void every_field_makes_another_format(void **state) {
    (void)state;
    const hu_format f = {.exp_bits = 4, .man_bits = 3, .specials = HU_SPECIALS_IEEE, .bias = 7};
    hu_format other[8];
    for (int i = 0; i < 8; i++) other[i] = f;
    other[0].exp_bits++;
    other[1].man_bits++;
    other[2].specials++;
    other[3].subnormals++;
    other[4].overflow++;
    other[5].underflow++;
    other[6].nan++;
    other[7].bias++;
    assert_true(hu_format_equal(&f, &f));
    for (int i = 0; i < 8; i++) {
        assert_false(hu_format_equal(&f, &other[i]));
        assert_false(hu_format_equal(&other[i], &f));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_makes_another_format),
        cmocka_unit_test(named_formats_have_their_fields),
        cmocka_unit_test(spelled_out_formats_have_their_defaults),
        cmocka_unit_test(underflow_and_nan_have_their_options),
        cmocka_unit_test(options_change_fields_and_specials_bring_their_overflow),
        cmocka_unit_test(malformed_names_are_rejected_with_their_column),
        cmocka_unit_test(overlong_names_are_rejected),
        cmocka_unit_test(unknown_names_are_answered_with_the_nearest),
        cmocka_unit_test(names_of_other_programs_are_answered_with_ours),
        cmocka_unit_test(nine_exponent_bits_are_rejected_with_their_position),
        cmocka_unit_test(values_outside_the_space_are_rejected),
        cmocka_unit_test(check_rejects_every_bad_field),
        cmocka_unit_test(table_rows_are_valid_and_print_their_names),
        cmocka_unit_test(printed_formats_parse_back),
        cmocka_unit_test(canonical_spellings_are_as_documented),
        cmocka_unit_test(printing_needs_room),
        cmocka_unit_test(defaults_are_those_of_the_definitions),
        cmocka_unit_test(checks_name_the_column_of_their_field),
        cmocka_unit_test(rounding_names_go_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
