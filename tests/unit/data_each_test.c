/* The same for every file of a list, on all threads. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "data/parallel_for.h"

enum { COUNT = 1000, FIRST_BAD = 300 };

static volatile sig_atomic_t flag;

typedef struct seen {
    _Atomic int visits;
    bool fails;
    int64_t interrupts_at; /* -1: never */
} seen;

static hu_status visit(void *context, int64_t i) {
    seen *s = context;
    atomic_fetch_add(&s->visits, 1);
    if (i == s->interrupts_at) flag = 1;
    if (s->fails && i >= FIRST_BAD) return hu_fail(HU_ERR_CORRUPT, "file %d", (int)i);
    return HU_OK;
}

static void all_are_visited(void **state) {
    (void)state;
    seen s = {.interrupts_at = -1};
    assert_int_equal(hu_data_each(COUNT, visit, &s), HU_OK);
    assert_int_equal(s.visits, COUNT);
}

static void the_first_failure_is_told(void **state) {
    (void)state;
    seen s = {.fails = true, .interrupts_at = -1};
    assert_int_equal(hu_data_each(COUNT, visit, &s), HU_ERR_CORRUPT);
    assert_string_equal(hu_last_error(), "file 300");
}

static void an_interruption_ends_between_two(void **state) {
    (void)state;
    seen s = {.interrupts_at = 20};
    hu_data_watch(&flag);
    hu_status st = hu_data_each(COUNT, visit, &s);
    hu_data_watch(NULL);
    assert_int_equal(st, HU_ERR_INTERRUPTED);
    assert_non_null(strstr(hu_last_error(), "interrupted"));
    assert_true(s.visits < COUNT);
    s = (seen){.interrupts_at = -1};
    assert_int_equal(hu_data_each(COUNT, visit, &s), HU_OK); /* nobody asks any more */
    assert_int_equal(s.visits, COUNT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_visited),
        cmocka_unit_test(the_first_failure_is_told),
        cmocka_unit_test(an_interruption_ends_between_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
