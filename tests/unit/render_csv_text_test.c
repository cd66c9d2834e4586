/* Cells of a CSV whose texts come from outside. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "render/csv.h"

static char text[128];

static const char *cell(const char *of) {
    hu_byte_writer out = {0};
    assert_int_equal(hu_csv_put_cell(&out, of), HU_OK);
    assert_true(out.size < sizeof text);
    if (out.size > 0) memcpy(text, out.data, out.size);
    text[out.size] = '\0';
    hu_writer_free(&out);
    return text;
}

static void plain_texts_stay(void **state) {
    (void)state;
    static const char *const texts[] = {"",    "cat", "a b",         "3/4",
                                        "a-b", "a=b", "caf\xc3\xa9", "\\x1b"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_string_equal(cell(texts[i]), texts[i]);
}

/* RFC 4180, section 2. */
static void quotes_and_lines_are_kept(void **state) {
    (void)state;
    assert_string_equal(cell("a,b"), "\"a,b\"");
    assert_string_equal(cell("say \"a\""), "\"say \"\"a\"\"\"");
    assert_string_equal(cell("a\nb"), "\"a\nb\"");
    assert_string_equal(cell("a\tb"), "a\tb");
}

static void formulas_stand_behind_an_apostrophe(void **state) {
    (void)state;
    assert_string_equal(cell("=1+1"), "'=1+1");
    assert_string_equal(cell("+a"), "'+a");
    assert_string_equal(cell("-a"), "'-a");
    assert_string_equal(cell("@a"), "'@a");
    assert_string_equal(cell("\t=a"), "'\t=a");
    assert_string_equal(cell("=a,\"b\""), "\"'=a,\"\"b\"\"\"");
}

static void control_characters_are_written_in_digits(void **state) {
    (void)state;
    assert_string_equal(cell("a\033[31m"), "a\\x1b[31m");
    assert_string_equal(cell("\xe2\x80\xaegpj"), "\\xe2\\x80\\xaegpj");
    assert_string_equal(cell("\xc2\x9b,"), "\"\\xc2\\x9b,\"");
}

static void numbers_are_no_formulas(void **state) {
    hu_byte_writer out = {0};
    (void)state;
    assert_int_equal(hu_csv_put_real(&out, -0.1), HU_OK);
    assert_int_equal(hu_csv_put_real(&out, (double)NAN), HU_OK);
    assert_int_equal(hu_csv_put_number(&out, ",", -2.5), HU_OK);
    assert_int_equal(out.size, strlen(",-0.1,,-2.5"));
    assert_memory_equal(out.data, ",-0.1,,-2.5", out.size);
    hu_writer_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_texts_stay),
        cmocka_unit_test(quotes_and_lines_are_kept),
        cmocka_unit_test(formulas_stand_behind_an_apostrophe),
        cmocka_unit_test(control_characters_are_written_in_digits),
        cmocka_unit_test(numbers_are_no_formulas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
