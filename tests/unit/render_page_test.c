/* Pages: nothing from outside becomes markup, and the first failure ends the writing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "render/html.h"
#include "render/svg.h"

static void expect_text(const char *text, const char *expected) {
    hu_page page = {0};
    char *found;
    hu_page_text(&page, text);
    assert_int_equal(hu_page_finish(&page, &found), HU_OK);
    assert_string_equal(found, expected);
    hu_free(found);
}

static void test_texts_are_escaped(void **state) {
    (void)state;
    expect_text("", "");
    expect_text("plain", "plain");
    expect_text("<a href=\"x\">'&'</a>", "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
    expect_text("&", "&amp;");
    expect_text("a\nb\tc\x01\x1b[0m\x7f", "a\nb\tc??[0m?");
    expect_text("2⁻¹⁰ é", "2⁻¹⁰ é");
    expect_text("\xff\xc3", "??");
    expect_text("\xc3\xa9 \xff", "?? ?");
}

static void test_an_attribute_stays_inside(void **state) {
    hu_page page = {0};
    char *found;
    (void)state;
    hu_svg_mark(&page, 0, 1.0, 2.0, 3.0, "mark", "a</title><script>");
    hu_svg_begin(&page, 10, 20, "x\" onload=\"y");
    assert_int_equal(hu_page_finish(&page, &found), HU_OK);
    assert_null(strstr(found, "<script"));
    assert_null(strstr(found, "\" onload"));
    hu_free(found);
}

static void test_control_characters_are_replaced(void **state) {
    hu_page page = {0};
    char *found;
    (void)state;
    hu_page_text(&page, "a\033[31m\x7f\xc2\x9b\xe2\x80\xaegpj\xd8\x9c\xe2\x80\x8d\t\xc3\xa9");
    assert_int_equal(hu_page_finish(&page, &found), HU_OK);
    assert_string_equal(found, "a?[31m???gpj?\xe2\x80\x8d\t\xc3\xa9");
    hu_free(found);
}

static void test_a_failure_is_kept(void **state) {
    hu_page page = {0};
    char *found = (char *)state;
    hu_page_put(&page, "begin");
    hu_memory_fail_at(1);
    for (int i = 0; i < 10000 && page.status == HU_OK; i++) hu_page_put(&page, "0123456789");
    assert_int_equal(page.status, HU_ERR_MEMORY);
    hu_page_put(&page, "end");
    assert_int_equal(hu_page_finish(&page, &found), HU_ERR_MEMORY);
    assert_null(found);
}

static void test_style_sheets_are_whole(void **state) {
    hu_page page = {0}, picture = {0};
    char *of_page, *of_picture;
    (void)state;
    hu_html_put_style(&page);
    hu_html_put_fixed_style(&picture);
    assert_int_equal(hu_page_finish(&page, &of_page), HU_OK);
    assert_int_equal(hu_page_finish(&picture, &of_picture), HU_OK);
    assert_non_null(strstr(of_page, "@media (prefers-color-scheme:dark){:root{--bg:"));
    assert_non_null(strstr(of_page, ".mark{fill:currentColor;stroke:var(--bg)"));
    assert_non_null(strstr(of_picture, ".mark{fill:currentColor;stroke:#fff"));
    assert_non_null(strstr(of_picture, ".c0{color:#0b62a4}"));
    assert_null(strstr(of_picture, "var("));
    assert_null(strstr(of_picture, "@media"));
    assert_string_equal(hu_html_light("c0", 2), "#0b62a4");
    hu_free(of_page);
    hu_free(of_picture);
}

static void test_powers_are_raised(void **state) {
    hu_page page = {0};
    char *found;
    (void)state;
    hu_svg_power(&page, 0, 0, "tick", -149);
    assert_int_equal(hu_page_finish(&page, &found), HU_OK);
    assert_non_null(strstr(found, ">2⁻¹⁴⁹<"));
    hu_free(found);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_are_escaped),
        cmocka_unit_test(test_an_attribute_stays_inside),
        cmocka_unit_test(test_control_characters_are_replaced),
        cmocka_unit_test(test_a_failure_is_kept),
        cmocka_unit_test(test_style_sheets_are_whole),
        cmocka_unit_test(test_powers_are_raised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
