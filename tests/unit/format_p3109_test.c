/* Formats of IEEE P3109: names, codes and limits against the definitions (tests/reference/p3109.c);
 * their rounding: tests/exhaustive/kernel_p3109.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "reference/p3109.h"

static hu_format parsed(const char *text) {
    hu_format format;
    if (hu_format_parse(text, &format) != HU_OK) fail_msg("'%s': %s", text, hu_last_error());
    return format;
}

/* Calls check with every format of at most K bits that float32 holds; returns how many. */
static int for_each(int most, void (*check)(const p3109 *)) {
    int count = 0;
    for (int k = 3; k <= most; k++)
        for (int p = 1; p <= k; p++)
            for (int kind = 0; kind < 4; kind++) {
                p3109 f = {k, p, kind % 2 == 0, kind / 2 == 0};
                if (!p3109_exists(&f) || !p3109_fits(&f)) continue;
                check(&f);
                count++;
            }
    return count;
}

/* Long and short, in capitals; and what is printed reads back. */
static void check_names(const p3109 *f) {
    char name[32], text[80];
    p3109_name(f, name);
    hu_format format = parsed(name), again = parsed(name + strlen("binary"));
    assert_true(hu_format_equal(&format, &again));
    for (char *c = name; *c; c++) *c = (char)toupper((unsigned char)*c);
    again = parsed(name);
    assert_true(hu_format_equal(&format, &again));
    p3109_name(f, name);
    assert_int_equal(hu_format_bits(&format), f->k);
    assert_int_equal(hu_format_print(&format, text, sizeof text), HU_OK);
    assert_string_equal(text, name);
    static const char *const saturations[] = {"finite", "propagate", "none"};
    for (int s = 0; s < 3; s++) {
        snprintf(text, sizeof text, "%s:sat=%s", name, saturations[s]);
        format = parsed(text);
        assert_int_equal(hu_format_print(&format, text, sizeof text), HU_OK);
        again = parsed(text);
        assert_true(hu_format_equal(&format, &again));
    }
}

static void every_format_has_its_names(void **state) {
    (void)state;
    assert_int_equal(for_each(16, check_names), 376);
}

static void check_codes(const p3109 *f) {
    char name[32];
    p3109_name(f, name);
    hu_format format = parsed(name);
    for (uint32_t code = 0; code < 1u << f->k; code++) {
        float x;
        uint32_t back;
        double value = p3109_value(f, code);
        assert_int_equal(hu_format_decode(&format, code, &x), HU_OK);
        if (hu_f32_bits(x) != (isnan(value) ? HU_F32_NAN : hu_f32_bits((float)value)))
            fail_msg("%s: code 0x%x: found %a, expected %a", name, code, (double)x, value);
        assert_int_equal(hu_format_encode(&format, x, &back), HU_OK);
        assert_int_equal(back, code);
    }
    float x;
    assert_int_equal(hu_format_decode(&format, 1u << f->k, &x), HU_ERR_ARGUMENT);
}

static void every_code_has_its_value(void **state) {
    (void)state;
    assert_int_equal(for_each(16, check_codes), 376);
}

static void check_limits(const p3109 *f) {
    char name[32];
    p3109_name(f, name);
    hu_format format = parsed(name);
    hu_format_limits limits = hu_format_limits_of(&format);
    assert_true(limits.max_finite == p3109_most(f));
    assert_true(limits.min_normal == p3109_value(f, 1u << (f->p - 1)));
    assert_true(limits.min_subnormal == p3109_value(f, 1));
    assert_int_equal(limits.emax, ilogb(p3109_most(f)));
    assert_int_equal(limits.codes, 1u << f->k);
}

/* Source: IEEE P3109, Interim Report 4.0, and gfloat 0.5.2, which agree. */
static void limits_are_those_of_the_definition(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double max, min_normal, min_subnormal;
    } rows[] = {{"binary8p1se", 0x1p62, 0x1p-63, 0x1p-63},
                {"binary8p2se", 0x1p31, 0x1p-31, 0x1p-32},
                {"binary8p3se", 49152, 0x1p-15, 0x1p-17},
                {"binary8p3sf", 57344, 0x1p-15, 0x1p-17},
                {"binary8p4se", 224, 0x1p-7, 0x1p-10},
                {"binary8p4sf", 240, 0x1p-7, 0x1p-10},
                {"binary8p5se", 15, 0x1p-3, 0x1p-7},
                {"binary8p7sf", 127.0 / 64, 1, 0x1p-6},
                {"binary8p1uf", 0x1p126, 0x1p-127, 0x1p-127},
                {"binary8p3ue", 2684354560, 0x1p-31, 0x1p-33},
                {"binary8p4ue", 53248, 0x1p-15, 0x1p-18},
                {"binary8p8uf", 127.0 / 64, 1, 0x1p-7},
                {"binary6p3sf", 14, 0x1p-3, 0x1p-5},
                {"binary4p2sf", 3, 0.5, 0.25},
                {"binary3p2sf", 1.5, 1, 0.5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hu_format format = parsed(rows[i].name);
        hu_format_limits limits = hu_format_limits_of(&format);
        assert_true(limits.max_finite == rows[i].max);
        assert_true(limits.min_normal == rows[i].min_normal);
        assert_true(limits.min_subnormal == rows[i].min_subnormal);
    }
    assert_int_equal(for_each(16, check_limits), 376);
}

/* Signed finite ones are floats where float formats go so far, and have their names: 8p3sf is
 * e5m2fnuz that saturates. */
static void signed_finite_formats_are_floats(void **state) {
    (void)state;
    static const char *const same[][2] = {{"8p3sf", "e5m2fnuz:ovf=sat"},
                                          {"8p4sf", "e4m3fnuz:ovf=sat"},
                                          {"8p7sf", "e1m6:specials=fnuz:bias=1:ovf=sat"},
                                          {"8p3sf:sat=none", "e5m2fnuz:ovf=sat"},
                                          {"8p3sf:sat=propagate", "e5m2fnuz:ovf=sat"},
                                          {"8p3sf:ovf=nan", "e5m2fnuz"},
                                          {"8p3sf:bias=2", "e5m2fnuz:bias=18:ovf=sat"}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        hu_format a = parsed(same[i][0]), b = parsed(same[i][1]);
        assert_true(hu_format_equal(&a, &b));
    }
}

static void what_p3109_lacks_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        hu_status status;
        const char *said;
    } rows[] = {
        {"binary2p1se", HU_ERR_FORMAT, "found K = 2, P = 1, signed; IEEE P3109 has K = 3..16"},
        {"binary17p3se", HU_ERR_FORMAT, "K = 17"},
        {"binary8p8se", HU_ERR_FORMAT, "P = 1..K-1 (signed) or 1..K (unsigned)"},
        {"binary8p9uf", HU_ERR_FORMAT, "P = 9, unsigned"},
        {"binary8p0sf", HU_ERR_FORMAT, "P = 0"},
        {"binary16p7se", HU_ERR_FORMAT, "K - P up to 8 (signed), 7 (unsigned)"},
        {"16p8uf", HU_ERR_FORMAT, "whose numbers float32 does not hold"},
        {"binary99999999999999999999p3se", HU_ERR_FORMAT, "IEEE P3109 has"},
        {"binary8p3", HU_ERR_PARSE, "column 10: found the end, expected 's' or 'u'"},
        {"binary8p3s", HU_ERR_PARSE, "column 11: found the end, expected 'e' or 'f'"},
        {"binary8p3xe", HU_ERR_PARSE, "found 'x'"},
        {"binary8p3sex", HU_ERR_PARSE, "expected ':' or the end"},
        {"8p3se:sat=half", HU_ERR_PARSE, "'finite', 'propagate' or 'none'"},
        {"8p3se:sat=none:ovf=inf", HU_ERR_PARSE, "at most once"},
        {"8p3se:bias=1000", HU_ERR_FORMAT, "a bias"},
        {"posit8:sat=none", HU_ERR_PARSE, "'bias=' or 'ovf='"},
        {"e5m2:ovf=none", HU_ERR_FORMAT, "IEEE P3109"},
        {"binary16", HU_ERR_UNKNOWN, "fp16"},
        {"binary8", HU_ERR_UNKNOWN, "binary8p3se"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hu_format format;
        hu_status st = hu_format_parse(rows[i].text, &format);
        if (st != rows[i].status || !strstr(hu_last_error(), rows[i].said))
            fail_msg("'%s': status %d, %s; expected %d, %s", rows[i].text, st, hu_last_error(),
                     rows[i].status, rows[i].said);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_has_its_names),
        cmocka_unit_test(every_code_has_its_value),
        cmocka_unit_test(limits_are_those_of_the_definition),
        cmocka_unit_test(signed_finite_formats_are_floats),
        cmocka_unit_test(what_p3109_lacks_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
