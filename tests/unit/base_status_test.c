/* Statuses and the message beside them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"

static void every_status_has_a_text_and_an_exit_code(void **state) {
    (void)state;
    for (int i = HU_OK; i <= HU_ERR_KIND; i++) {
        assert_true(strlen(hu_status_text((hu_status)i)) > 0);
        int code = hu_status_exit_code((hu_status)i);
        assert_true(i == HU_OK ? code == 0 : (code >= 1 && code <= 6) || code == 130);
    }
    assert_string_equal(hu_status_text((hu_status)(HU_ERR_KIND + 1)), "unknown status");
    assert_int_equal(hu_status_exit_code((hu_status)-1), 1);
}

static void a_place_is_put_in_front_of_the_message(void **state) {
    (void)state;
    assert_int_equal(hu_fail(HU_ERR_PARSE, "found %d", 7), HU_ERR_PARSE);
    assert_int_equal(hu_fail_within(HU_ERR_PARSE, "line %d: ", 3), HU_ERR_PARSE);
    assert_string_equal(hu_last_error(), "line 3: found 7");
    assert_int_equal(hu_fail(HU_ERR_IO, "%s; again", hu_last_error()), HU_ERR_IO);
    assert_string_equal(hu_last_error(), "line 3: found 7; again");
}

static void long_messages_are_cut(void **state) {
    (void)state;
    static char text[6000];
    memset(text, 'x', sizeof text - 1);
    hu_fail(HU_ERR_IO, "%s", text);
    assert_int_equal(strlen(hu_last_error()), 4095);
    hu_fail_within(HU_ERR_IO, "here: ");
    assert_int_equal(strlen(hu_last_error()), 4095);
    assert_memory_equal(hu_last_error(), "here: xx", 8);
    hu_fail_within(HU_ERR_IO, "%s", text);
    assert_int_equal(strlen(hu_last_error()), 4095);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_text_and_an_exit_code),
        cmocka_unit_test(a_place_is_put_in_front_of_the_message),
        cmocka_unit_test(long_messages_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
