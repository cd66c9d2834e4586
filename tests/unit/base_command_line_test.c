/* Words of a command as a shell takes them again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/process.h"

static void assert_words(const char *words, size_t bytes, const char *expected) {
    char *text;
    assert_int_equal(hu_shell_words(words, bytes, &text), HU_OK);
    assert_string_equal(text, expected);
    hu_free(text);
}

#define ASSERT_WORDS(words, expected) assert_words(words, sizeof(words), expected)

static void plain_words_stay(void **state) {
    (void)state;
    ASSERT_WORDS("./halfulp\0train\0lr=0.1\0data=text:a.txt\0--json",
                 "./halfulp train lr=0.1 data=text:a.txt --json");
    ASSERT_WORDS("a\0\0b", "a '' b");
    assert_words("", 0, "");
}

static void others_are_quoted(void **state) {
    (void)state;
    ASSERT_WORDS("precision.rules=fc.weight: e4m3", "'precision.rules=fc.weight: e4m3'");
    ASSERT_WORDS("it's\0$HOME\0fp(4,3)\0*", "'it'\\''s' '$HOME' 'fp(4,3)' '*'");
    ASSERT_WORDS("data=folder:M\xc3\xbcller", "'data=folder:M\xc3\xbcller'");
    ASSERT_WORDS("a\nb\x1b[2J", "$'a\\x0ab\\x1b[2J'");
    ASSERT_WORDS("\xff'\\\xc3\xbc\n", "$'\\xff\\x27\\x5c\\xc3\\xbc\\x0a'");
}

/* What bash makes of them is what they were, every byte. */
static void a_shell_takes_them_again(void **state) {
    char words[2 * 255 + 3], command[4096], back[sizeof words] = "", *text;
    size_t bytes = 0;
    (void)state;
    for (int c = 1; c < 256; c++) words[bytes++] = (char)c;
    words[bytes++] = '\0';
    for (int c = ' '; c < 127; c++) words[bytes++] = (char)c;
    words[bytes++] = '\0';
    assert_int_equal(hu_shell_words(words, bytes, &text), HU_OK);
    snprintf(command, sizeof command, "bash -c \"$(cat <<'END'\nprintf '%%s\\0' %s\nEND\n)\"",
             text);
    hu_free(text);
    FILE *shell = popen("command -v bash", "r");
    assert_non_null(shell);
    if (pclose(shell) != 0) skip();
    shell = popen(command, "r");
    assert_non_null(shell);
    assert_int_equal(fread(back, 1, sizeof back, shell), bytes);
    assert_int_equal(pclose(shell), 0);
    assert_memory_equal(back, words, bytes);
}

static void the_process_knows_its_own(void **state) {
    char *text;
    (void)state;
    assert_int_equal(hu_command_line(&text), HU_OK);
    if (!text) skip();
    assert_non_null(strstr(text, "base_command_line_test"));
    hu_free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_words_stay), cmocka_unit_test(others_are_quoted),
        cmocka_unit_test(a_shell_takes_them_again), cmocka_unit_test(the_process_knows_its_own)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
