/* Numbers of tokens as text: words, characters, bytes, and what cannot be shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "data/vocabulary.h"

static void expect(const hu_dataset *d, const int32_t *number, int64_t count, bool breaks_lines,
                   const char *text) {
    hu_words words;
    char *found;
    assert_int_equal(hu_words_create(d, &words), HU_OK);
    assert_int_equal(hu_words_join(&words, number, count, breaks_lines, &found), HU_OK);
    assert_string_equal(found, text);
    hu_free(found);
    hu_words_free(&words);
}

static void words_stand_apart(void **state) {
    (void)state;
    char names[] = "a\0<eos>\0bc";
    const hu_dataset d = {.class_names = names, .class_name_count = 3, .unit = HU_TEXT_WORDS};
    static const int32_t number[] = {0, 2, 1, 1, -1, 2};
    expect(&d, number, 6, false, "a bc <eos> <eos> bc");
    expect(&d, number, 6, true, "a bc\n\nbc");
    expect(&d, number, 0, true, "");
}

/* The blank of speech has no name and is never said. */
static void letters_stand_together(void **state) {
    (void)state;
    char names[] = "\0a\0 \0\xc3\xa9";
    const hu_dataset d = {.class_names = names, .class_name_count = 4};
    static const int32_t number[] = {1, 2, 3, -1, 1};
    expect(&d, number, 5, false,
           "a \xc3\xa9"
           "a");
}

/* Bytes are a text where they are UTF-8; what steers a terminal never gets there. */
static void bytes_that_are_no_text_are_replaced(void **state) {
    (void)state;
    const hu_dataset d = {.class_names = NULL};
    static const int32_t number[] = {'a', '\n', 0xc3, 0xa9, 0xc3, 'b', 0x1b, 0, 0x80, '\t', 0xe6};
    expect(&d, number, 11, false,
           "a\n\xc3\xa9\xef\xbf\xbd"
           "b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\t\xef\xbf\xbd");
    static const int32_t control[] = {0xc2, 0x9b, 0x7f}; /* a control character of two bytes */
    expect(&d, control, 3, false, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_stand_apart),
                                       cmocka_unit_test(letters_stand_together),
                                       cmocka_unit_test(bytes_that_are_no_text_are_replaced)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
