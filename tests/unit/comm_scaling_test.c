/* Names of scalings and the constants after them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "comm/plan.h"

static void constants_are_read_and_written(void **state) {
    (void)state;
    static const int32_t constants[] = {-126, -1, 0, 10, 126};
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        const hu_comm_scaling *scaling;
        int32_t constant;
        char text[32], again[32];
        snprintf(text, sizeof text, "constant:%d", constants[i]);
        assert_int_equal(hu_comm_scaling_parse(text, &scaling, &constant), HU_OK);
        assert_ptr_equal(scaling, &hu_comm_scaling_constant);
        assert_int_equal(constant, constants[i]);
        hu_comm_scaling_print(scaling, constant, again, sizeof again);
        assert_string_equal(again, text);
    }
}

/* Also what no integer of the machine holds. */
static void constants_out_of_range_are_refused(void **state) {
    (void)state;
    static const char *const numbers[] = {"127",
                                          "-127",
                                          "4294967296",
                                          "-4294967296",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "99999999999999999999",
                                          "-99999999999999999999",
                                          "",
                                          "1x"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const hu_comm_scaling *scaling;
        int32_t constant;
        char text[64], message[160];
        snprintf(text, sizeof text, "constant:%s", numbers[i]);
        snprintf(message, sizeof message,
                 "scaling '%s': found '%s', expected the K of a factor 2^K, -126..126", text,
                 numbers[i]);
        assert_int_equal(hu_comm_scaling_parse(text, &scaling, &constant), HU_ERR_PARSE);
        assert_string_equal(hu_last_error(), message);
    }
}

static void names_are_read(void **state) {
    (void)state;
    const hu_comm_scaling *scaling;
    int32_t constant;
    for (size_t i = 0; hu_comm_scaling_at(i); i++) {
        const hu_comm_scaling *one = hu_comm_scaling_at(i);
        hu_status st = hu_comm_scaling_parse(one->name, &scaling, &constant);
        assert_int_equal(st, one->takes_constant ? HU_ERR_PARSE : HU_OK);
        assert_ptr_equal(scaling, one);
    }
    assert_int_equal(hu_comm_scaling_parse("aps:3", &scaling, &constant), HU_ERR_PARSE);
    assert_int_equal(hu_comm_scaling_parse("asp", &scaling, &constant), HU_ERR_UNKNOWN);
    assert_non_null(strstr(hu_last_error(),
                           "expected none, constant:K, aps, aps-tight, aps-wide, aps2, "
                           "terngrad[:C], qsgd[:B[/D]] or flex16+5"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_are_read_and_written),
        cmocka_unit_test(constants_out_of_range_are_refused),
        cmocka_unit_test(names_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
