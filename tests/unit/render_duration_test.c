/* Spans of time and colours of lines. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "render/terminal.h"

static void spans_grow_from_seconds_to_days(void **state) {
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {{0.0, "0:00"},
                 {36.9, "0:36"},
                 {59.999, "0:59"},
                 {60.0, "1:00"},
                 {725.0, "12:05"},
                 {3599.0, "59:59"},
                 {3600.0, "1:00:00"},
                 {86399.0, "23:59:59"},
                 {86400.0, "1 d 0:00:00"},
                 {183840.0, "2 d 3:04:00"}};
    char text[HU_DURATION_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(hu_duration_text(cases[i].seconds, text), cases[i].text);
}

static void what_is_no_span_is_a_dash(void **state) {
    const double none[] = {(double)NAN, (double)INFINITY, -1.0, 1e300};
    char text[HU_DURATION_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_string_equal(hu_duration_text(none[i], text), "-");
}

static void set(const char *no_colour, const char *force) {
    setenv("NO_COLOR", no_colour, 1);
    setenv("CLICOLOR_FORCE", force, 1);
}

/* A pipe is no terminal. */
static void files_are_coloured_only_by_force(void **state) {
    int ends[2];
    (void)state;
    setenv("TERM", "xterm", 1);
    assert_int_equal(pipe(ends), 0);
    set("", "");
    assert_false(hu_colour_wanted(ends[1]));
    set("", "0");
    assert_false(hu_colour_wanted(ends[1]));
    set("", "1");
    assert_true(hu_colour_wanted(ends[1]));
    set("1", "1");
    assert_false(hu_colour_wanted(ends[1]));
    close(ends[0]);
    close(ends[1]);
}

static void unwanted_colours_are_no_characters(void **state) {
    (void)state;
    assert_string_equal(hu_colour_begin(HU_COLOUR_BAD, false), "");
    assert_string_equal(hu_colour_end(false), "");
    assert_string_equal(hu_colour_begin(HU_COLOUR_WARNING, true), "\033[33m");
    assert_string_equal(hu_colour_end(true), "\033[0m");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_grow_from_seconds_to_days),
        cmocka_unit_test(what_is_no_span_is_a_dash),
        cmocka_unit_test(files_are_coloured_only_by_force),
        cmocka_unit_test(unwanted_colours_are_no_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
