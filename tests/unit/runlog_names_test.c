/* Names by number, few and many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "base/memory.h"
#include "runlog/names.h"

static uint32_t put(hu_names *names, const char *name, uint32_t hint) {
    uint32_t number;
    assert_int_equal(hu_names_intern(names, name, hint, &number), HU_OK);
    return number;
}

static void names_keep_their_numbers(void **state) {
    (void)state;
    hu_names names = {0};
    assert_int_equal(hu_names_find(&names, "a"), HU_NAMES_NONE);
    assert_int_equal(put(&names, "b", HU_NAMES_NONE), 0);
    assert_int_equal(put(&names, "a", 7), 1);
    assert_int_equal(put(&names, "", 0), 2);
    assert_int_equal(put(&names, "b", 0), 0);
    assert_int_equal(put(&names, "a", 0), 1);
    assert_int_equal(names.count, 3);
    hu_names_sort(&names);
    assert_string_equal(names.name[0], "");
    assert_int_equal(hu_names_find(&names, "a"), 1);
    assert_int_equal(hu_names_find(&names, "b"), 2);
    assert_int_equal(hu_names_find(&names, "c"), HU_NAMES_NONE);
    hu_names_free(&names);
}

/* Compared one by one, the names below would take some 10^11 bytes. */
static void many_names_are_found_in_no_time(void **state) {
    (void)state;
    enum { MANY = 300000 };
    hu_names names = {0};
    char name[64];
    clock_t start = clock();
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < MANY; i++) {
            snprintf(name, sizeof name, "the.same.beginning.of.all.of.them.%u", i);
            assert_int_equal(put(&names, name, HU_NAMES_NONE), i);
        }
    assert_int_equal(names.count, MANY);
    assert_true(clock() - start < 20 * CLOCKS_PER_SEC);
    hu_names_free(&names);
}

static void a_failed_allocation_leaves_the_list(void **state) {
    (void)state;
    for (uint64_t nth = 1; nth <= 3; nth++) {
        hu_names names = {0};
        uint32_t number;
        char name[16];
        for (int i = 0; i < 16; i++) {
            snprintf(name, sizeof name, "n%d", i);
            put(&names, name, HU_NAMES_NONE);
        }
        hu_memory_fail_at(nth); /* table, list or text: the seventeenth name makes all of them */
        assert_int_equal(hu_names_intern(&names, "x", 0, &number), HU_ERR_MEMORY);
        hu_memory_fail_at(0);
        assert_int_equal(names.count, 16);
        assert_int_equal(hu_names_find(&names, "x"), HU_NAMES_NONE);
        assert_int_equal(hu_names_find(&names, "n15"), 15);
        assert_int_equal(put(&names, "x", 0), 16);
        hu_names_free(&names);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_keep_their_numbers),
        cmocka_unit_test(many_names_are_found_in_no_time),
        cmocka_unit_test(a_failed_allocation_leaves_the_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
