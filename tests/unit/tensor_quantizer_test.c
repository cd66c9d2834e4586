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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_meaning),
        cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
