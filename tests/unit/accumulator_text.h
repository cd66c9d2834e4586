/* Texts of accumulators: what they mean, and how they are refused. Behind <cmocka.h>. */
#ifndef HU_UNIT_ACCUMULATOR_TEXT_H
#define HU_UNIT_ACCUMULATOR_TEXT_H
#include <string.h>

#include <halfulp/gemm.h>

static inline hu_accumulator parsed(const char *text) {
    hu_accumulator accumulator;
    if (hu_accumulator_parse(text, &accumulator) != HU_OK)
        fail_msg("'%s': %s", text, hu_last_error());
    return accumulator;
}

static inline void assert_fails(const char *text, hu_status status, const char *part) {
    hu_accumulator accumulator, zero;
    memset(&accumulator, 0xFF, sizeof accumulator);
    memset(&zero, 0, sizeof zero);
    hu_status st = hu_accumulator_parse(text, &accumulator);
    if (st != status || strstr(hu_last_error(), part) == NULL)
        fail_msg("'%s': status %d, message '%s', expected '%s'", text, st, hu_last_error(), part);
    assert_memory_equal(&accumulator, &zero, sizeof zero);
}

#endif
