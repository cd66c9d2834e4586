#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void three_nearest_names_come_in_order(void **state) {
    (void)state;
    const char *const names[] = {"fp32", "tf32", "bf16", "fp16", "e5m2"};
    char text[64];
    hu_nearest("FP61", names, 5, text, sizeof text);
    assert_string_equal(text, "'fp16', 'fp32' or 'bf16'");
    hu_nearest("e5m3", names, 5, text, sizeof text);
    assert_memory_equal(text, "'e5m2'", 6);
}

static void few_names_and_null_entries_are_served(void **state) {
    (void)state;
    const char *const names[] = {NULL, "train", NULL, "trade"};
    char text[64] = "left over";
    hu_nearest("trian", names, 0, text, sizeof text);
    assert_string_equal(text, "");
    hu_nearest("trian", names, 3, text, sizeof text);
    assert_string_equal(text, "'train'");
    hu_nearest("trian", names, 4, text, sizeof text);
    assert_string_equal(text, "'train' or 'trade'");
}

static void long_words_and_short_buffers_are_safe(void **state) {
    (void)state;
    char word[300], text[8];
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    const char *const names[] = {word, "a", ""};
    hu_nearest("", names, 3, text, sizeof text);
    assert_string_equal(text, "'', 'a'");
    hu_nearest(word, names, 3, text, sizeof text);
    assert_string_equal(text, "'xxxxxx");
    hu_nearest(word, names, 3, text, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_nearest_names_come_in_order),
        cmocka_unit_test(few_names_and_null_entries_are_served),
        cmocka_unit_test(long_words_and_short_buffers_are_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
