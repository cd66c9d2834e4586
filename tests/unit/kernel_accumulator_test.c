#include <halfulp/gemm.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "accumulator_text.h"

static void modes_are_read(void **state) {
    (void)state;
    static const struct {
        const char *text;
        hu_mac mac;
        int64_t block;
    } rows[] = {{"fmacs", HU_MAC_FMACS, 0},
                {"macs:1/6/9", HU_MAC_MACS, 0},
                {"fmac:1/6/9", HU_MAC_FMAC, 0},
                {"MAC:1/6/9", HU_MAC_MAC, 0},
                {"fmac8:1/6/9", HU_MAC_FMAC_K, 8},
                {"fmac1:1/6/9", HU_MAC_FMAC_K, 1},
                {"fmac008:1/6/9", HU_MAC_FMAC_K, 8},
                {"fmac9223372036854775807:1/6/9", HU_MAC_FMAC_K, INT64_MAX},
                {"kahan:1/6/9", HU_MAC_KAHAN, 0},
                {"kahan-cpd:1/6/9", HU_MAC_KAHAN_CPD, 0}};
    hu_format format;
    assert_int_equal(hu_format_parse("1/6/9", &format), HU_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hu_accumulator a = parsed(rows[i].text);
        assert_int_equal(a.mac, rows[i].mac);
        assert_int_equal(a.semantics, HU_SEMANTICS_EXACT);
        assert_int_equal(a.block, rows[i].block);
        if (a.mac != HU_MAC_FMACS) assert_true(hu_format_equal(&a.format, &format));
    }
}

/* A format's own colons and options stay with the format. */
static void texts_come_back(void **state) {
    (void)state;
    static const char *const texts[] = {"fmacs",
                                        "macs:bf16",
                                        "fmac:fp16",
                                        "mac:e4m3fn:ovf=sat",
                                        "fmac8:1/6/9/d",
                                        "fmac8:1/6/9/n",
                                        "fmac9223372036854775807:fp(4,3,4)",
                                        "kahan:e5m2",
                                        "kahan-cpd:e5m2fnuz"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[96];
        hu_accumulator again, a = parsed(texts[i]);
        assert_int_equal(hu_accumulator_print(&a, text, sizeof text), HU_OK);
        assert_string_equal(text, texts[i]);
        again = parsed(text);
        assert_int_equal(again.mac, a.mac);
        assert_int_equal(again.block, a.block);
        assert_true(hu_format_equal(&again.format, &a.format));
    }
}

static void mistakes_are_named(void **state) {
    (void)state;
    assert_fails("", HU_ERR_UNKNOWN, "unknown mode ''");
    assert_fails("fmax:fp16", HU_ERR_UNKNOWN, "'fmac'");
    assert_fails("khan:fp16", HU_ERR_UNKNOWN, "'kahan'");
    assert_fails("fmac-k:fp16", HU_ERR_UNKNOWN, "unknown mode 'fmac-k'");
    assert_fails("fmac8x:fp16", HU_ERR_UNKNOWN, "unknown mode 'fmac8x'");
    assert_fails("fmac-8:fp16", HU_ERR_UNKNOWN, "unknown mode 'fmac-8'");
    assert_fails("ffmac8:fp16", HU_ERR_UNKNOWN, "unknown mode 'ffmac8'");
    assert_fails("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", HU_ERR_UNKNOWN, "mode");
    assert_fails("fmac0:fp16", HU_ERR_ARGUMENT, "block of 0 terms");
    assert_fails("fmac9223372036854775808:fp16", HU_ERR_ARGUMENT, "at most");
    assert_fails("fmacs:fp16", HU_ERR_PARSE, "column 6");
    assert_fails("fmac", HU_ERR_PARSE, "column 5");
    assert_fails("fmac8", HU_ERR_PARSE, "column 6");
    assert_fails("fmac:", HU_ERR_PARSE, "found the end, expected the name of a format");
    assert_fails("fmac:e5m", HU_ERR_PARSE, "column 4");
    assert_fails("fmac:e5m", HU_ERR_PARSE, "accumulator 'fmac:e5m': format 'e5m'");
    assert_fails("fmac:fp61", HU_ERR_UNKNOWN, "'fp16'");
    assert_fails("fmac:e9m3", HU_ERR_FORMAT, "accumulator 'fmac:e9m3'");
}

static void fields_are_checked(void **state) {
    (void)state;
    hu_accumulator a = parsed("fmac8:1/6/9");
    assert_int_equal(hu_accumulator_check(&a), HU_OK);
    a.block = 0;
    assert_int_equal(hu_accumulator_check(&a), HU_ERR_ARGUMENT);
    a.mac = HU_MAC_FMAC;
    assert_int_equal(hu_accumulator_check(&a), HU_OK);
    a.semantics = HU_SEMANTICS_COUNT;
    assert_int_equal(hu_accumulator_check(&a), HU_ERR_ARGUMENT);
    a.semantics = HU_SEMANTICS_F32FMA;
    a.format.man_bits = 24;
    assert_int_equal(hu_accumulator_check(&a), HU_ERR_FORMAT);
    a.mac = HU_MAC_FMACS;
    assert_int_equal(hu_accumulator_check(&a), HU_OK);
    a.mac = HU_MAC_COUNT;
    assert_int_equal(hu_accumulator_check(&a), HU_ERR_ARGUMENT);
    a.mac = (hu_mac)-1;
    assert_int_equal(hu_accumulator_check(&a), HU_ERR_ARGUMENT);
}

static void printing_needs_room(void **state) {
    (void)state;
    char text[96] = "x";
    hu_accumulator a = parsed("fmac8:1/6/9");
    assert_int_equal(hu_accumulator_print(&a, text, 95), HU_ERR_ARGUMENT);
    assert_string_equal(text, "");
    a.block = -1;
    assert_int_equal(hu_accumulator_print(&a, text, 96), HU_ERR_ARGUMENT);
}

static void modes_have_names(void **state) {
    (void)state;
    assert_string_equal(hu_mac_name(HU_MAC_FMACS), "fmacs");
    assert_string_equal(hu_mac_name(HU_MAC_FMAC_K), "fmac-k");
    assert_string_equal(hu_mac_name(HU_MAC_KAHAN_CPD), "kahan-cpd");
    assert_string_equal(hu_mac_name(HU_MAC_COUNT), "?");
}

static void carry_holds_two_floats_an_element(void **state) {
    (void)state;
    const hu_accumulator fmac = parsed("fmac:fp16"), core = parsed("tc:K=32:F=13");
    assert_int_equal(hu_gemm_carry_floats(&fmac, 3, 5), 30);
    assert_int_equal(hu_gemm_carry_floats(&core, 3, 5), 30 + 32 * 8);
    assert_int_equal(hu_gemm_carry_floats(&fmac, 0, 5), 0);
    assert_int_equal(hu_gemm_carry_floats(&fmac, INT64_MAX, INT64_MAX), SIZE_MAX);
    assert_int_equal(hu_gemm_carry_floats(&core, INT64_MAX, 1), SIZE_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes_are_read),
        cmocka_unit_test(texts_come_back),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(fields_are_checked),
        cmocka_unit_test(printing_needs_room),
        cmocka_unit_test(modes_have_names),
        cmocka_unit_test(carry_holds_two_floats_an_element),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
