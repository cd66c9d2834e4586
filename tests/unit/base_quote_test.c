/* Names of files in commands: a shell and Python read back what was quoted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

static const char *const names[] = {"run",       "my run", "it's", "a;rm -r b", "$(id)",
                                    "`id`",      "a\\b",   "a\\",  "-n",        "",
                                    "*?[a]{b}",  "\"",     "'",    "a\nb",      "~/weights",
                                    "a&b|c>d<e", "!1",     "#a",   "\xc3\xa9",  "a\\'b"};
enum { NAMES = sizeof names / sizeof *names };

static void reads_back(const char *command, const char *name) {
    char line[512], found[256] = "";
    FILE *output = popen(command, "r");
    assert_non_null(output);
    size_t length = fread(found, 1, sizeof found - 1, output);
    assert_int_equal(pclose(output), 0);
    snprintf(line, sizeof line, "%s.", name); /* the dot keeps line ends at the end */
    found[length] = '\0';
    assert_string_equal(found, line);
}

static void a_shell_reads_them_back(void **state) {
    char word[256], command[512];
    (void)state;
    for (int i = 0; i < NAMES; i++) {
        assert_true(hu_quote_shell(names[i], word, sizeof word));
        snprintf(command, sizeof command, "printf '%%s.' %s", word);
        reads_back(command, names[i]);
    }
    assert_true(hu_quote_shell("runs/lr=0.1", word, sizeof word));
    assert_string_equal(word, "runs/lr=0.1");
}

static void python_reads_them_back(void **state) {
    char word[256], program[1024], whole[2048], command[4096];
    (void)state;
    if (system("command -v python3 >/dev/null") != 0) skip();
    for (int i = 0; i < NAMES; i++) {
        if (strchr(names[i], '\n')) continue;
        assert_true(hu_quote_python(names[i], word, sizeof word));
        snprintf(program, sizeof program, "import sys; sys.stdout.write(%s + '.')", word);
        assert_true(hu_quote_shell(program, whole, sizeof whole));
        snprintf(command, sizeof command, "python3 -c %s", whole);
        reads_back(command, names[i]);
    }
}

static void what_does_not_fit_is_not_cut(void **state) {
    char word[8];
    (void)state;
    assert_true(hu_quote_shell("1234567", word, sizeof word));
    assert_string_equal(word, "1234567");
    assert_false(hu_quote_shell("12345678", word, sizeof word));
    assert_string_equal(word, "");
    assert_true(hu_quote_shell("1 345", word, sizeof word));
    assert_string_equal(word, "'1 345'");
    assert_false(hu_quote_shell("1 3456", word, sizeof word));
    assert_string_equal(word, "");
    assert_false(hu_quote_shell("12345'", word, sizeof word));
    assert_true(hu_quote_python("12345", word, sizeof word));
    assert_false(hu_quote_python("1234\\", word, sizeof word));
    assert_string_equal(word, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_shell_reads_them_back),
                                       cmocka_unit_test(python_reads_them_back),
                                       cmocka_unit_test(what_does_not_fit_is_not_cut)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
