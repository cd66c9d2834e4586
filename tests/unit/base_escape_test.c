/* Control characters of foreign text, and where such text is shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/text.h"

static const char *escaped(const char *text) {
    static char to[64];
    hu_escape(text, to, sizeof to);
    return to;
}

static void every_control_character_is_written_in_digits(void **state) {
    (void)state;
    char expected[8], one[3] = "";
    for (int byte = 1; byte < 0x20; byte++) {
        one[0] = (char)byte;
        snprintf(expected, sizeof expected, "\\x%02x", (unsigned)byte);
        assert_string_equal(escaped(one), expected);
        assert_true(hu_has_controls(one));
    }
    assert_string_equal(escaped("\x7f"), "\\x7f");
    for (int byte = 0x80; byte < 0xa0; byte++) {
        one[0] = '\xc2';
        one[1] = (char)byte;
        assert_true(hu_has_controls(one));
        assert_memory_equal(escaped(one), "\\xc2\\x", 6);
    }
    assert_string_equal(escaped("a\033]0;x\007b"), "a\\x1b]0;x\\x07b");
}

/* A name that such a character turns around is read as another one. */
static void what_turns_text_is_written_in_digits(void **state) {
    (void)state;
    static const struct {
        const char *text, *escaped;
    } cases[] = {{"a\xe2\x80\xaegpj", "a\\xe2\\x80\\xaegpj"},
                 {"\xe2\x80\x8e", "\\xe2\\x80\\x8e"},
                 {"\xe2\x80\x8f", "\\xe2\\x80\\x8f"},
                 {"\xe2\x80\xaa", "\\xe2\\x80\\xaa"},
                 {"\xe2\x81\xa6", "\\xe2\\x81\\xa6"},
                 {"\xe2\x81\xa9x", "\\xe2\\x81\\xa9x"},
                 {"\xd8\x9c", "\\xd8\\x9c"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(escaped(cases[i].text), cases[i].escaped);
        assert_true(hu_has_controls(cases[i].text));
    }
    /* Their neighbours: a dash, a joiner (which emojis need), an Arabic comma. */
    static const char *const others[] = {"\xe2\x80\x90", "\xe2\x80\x8d", "\xe2\x80\xaf",
                                         "\xe2\x81\xa5", "\xe2\x81\xaa", "\xd8\x8c",
                                         "\xe2\x80",     "\xe2"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_string_equal(escaped(others[i]), others[i]);
}

static void all_other_text_stays(void **state) {
    (void)state;
    static const char *const texts[] = {
        "", "a b~", "\xc2\xa0\xc3\xa9", "\xe2\x82\xac", "\\x1b", "\xf0\x9f\x98\x80", "\xff\xc2"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_string_equal(escaped(texts[i]), texts[i]);
        assert_false(hu_has_controls(texts[i]));
    }
}

/* Neither half an escape nor half a character. */
static void a_text_is_cut_between_characters(void **state) {
    (void)state;
    char to[6];
    hu_escape("ab\033", to, sizeof to);
    assert_string_equal(to, "ab");
    hu_escape("a\033", to, sizeof to);
    assert_string_equal(to, "a\\x1b");
    hu_escape("abc\xe2\x82\xac", to, sizeof to);
    assert_string_equal(to, "abc");
    hu_escape("x", to, 1);
    assert_string_equal(to, "");
}

static void messages_are_escaped(void **state) {
    (void)state;
    hu_fail(HU_ERR_PARSE, "found '%s'", "\033[31m\n");
    assert_string_equal(hu_last_error(), "found '\\x1b[31m\\x0a'");
    hu_fail_within(HU_ERR_PARSE, "%s: ", "a\tb");
    assert_string_equal(hu_last_error(), "a\\x09b: found '\\x1b[31m\\x0a'");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_control_character_is_written_in_digits),
        cmocka_unit_test(what_turns_text_is_written_in_digits),
        cmocka_unit_test(all_other_text_stays),
        cmocka_unit_test(a_text_is_cut_between_characters),
        cmocka_unit_test(messages_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
