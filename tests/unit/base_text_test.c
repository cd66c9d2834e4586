/* Files of text: byte-order marks, zero bytes, UTF-16. */
#include "base/memory.h"
#include "base/text_file.h"
#include "data_files.h"

static void a_mark_is_no_text(void **state) {
    (void)state;
    static const struct {
        const char *file, *text;
    } table[] = {{"\xef\xbb\xbf"
                  "a\nb",
                  "a\nb"},
                 {"\xef\xbb\xbf", ""},
                 {"", ""},
                 {"\xef\xbb", "\xef\xbb"},
                 {"a\xef\xbb\xbf", "a\xef\xbb\xbf"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char *text;
        size_t bytes;
        put("text", table[i].file, strlen(table[i].file));
        assert_int_equal(hu_text_read(at("text"), 100, &text, &bytes), HU_OK);
        assert_string_equal(text, table[i].text);
        assert_int_equal(bytes, strlen(table[i].text));
        hu_free(text);
    }
}

static void refuse(const char *file, size_t length, hu_status expected, const char *part) {
    char *text;
    size_t bytes;
    uint64_t blocks = hu_memory_count().live_blocks;
    put("text", file, length);
    assert_int_equal(hu_text_read(at("text"), 10, &text, &bytes), expected);
    assert_null(text);
    if (!strstr(hu_last_error(), part)) fail_msg("'%s' lacks '%s'", hu_last_error(), part);
    assert_int_equal(hu_memory_count().live_blocks, blocks);
}

static void what_is_no_text_is_named(void **state) {
    (void)state;
    refuse("ab\0c", 4, HU_ERR_CORRUPT, "text: offset 2: found a zero byte, expected text");
    refuse("\xff\xfe"
           "a\0",
           4, HU_ERR_CORRUPT, "text: found UTF-16, expected UTF-8; `iconv");
    refuse("01234567890", 11, HU_ERR_LIMIT, "text");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_mark_is_no_text),
                                       cmocka_unit_test(what_is_no_text_is_named)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
