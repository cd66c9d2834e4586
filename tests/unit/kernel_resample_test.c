/* Weighted sums of bytes: every instruction set gives the bits of the definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "kernel/resample/resample.h"

enum { PLACES = 37, MOST = 9, SOURCE = 60, BYTES = SOURCE * 3, ONE = 1 << HU_RESAMPLE_BITS };

static int64_t first[PLACES], count[PLACES];
static int32_t weight[PLACES * MOST];
static uint8_t source[MOST * BYTES + 1];

/* Some places of up to MOST weights; every third weighs a little more than 1, as rounding may. */
static hu_resample_axis make_axis(uint64_t seed) {
    const hu_random_key key = {seed, hu_stream_id("test", "resample"), 0};
    for (uint64_t i = 0; i < PLACES; i++) {
        count[i] = 1 + (int64_t)hu_random_below(&key, 2 * i, MOST);
        first[i] = (int64_t)hu_random_below(&key, 2 * i + 1, (uint64_t)(SOURCE - count[i] + 1));
        int32_t left = ONE + (i % 3 == 0 ? 5 : 0);
        for (int64_t k = 0; k < count[i]; k++) {
            int32_t share = k + 1 == count[i] ? left : left / 3;
            weight[i * MOST + (uint64_t)k] = share;
            left -= share;
        }
    }
    for (uint64_t i = 0; i < sizeof source; i++)
        source[i] = i % 7 == 0 ? 255 : (uint8_t)hu_random_word(&key, 1000 + i);
    return (hu_resample_axis){PLACES, MOST, first, count, weight};
}

static uint8_t expected(int64_t i, const uint8_t *from, int64_t step) {
    int64_t sum = ONE / 2;
    for (int64_t k = 0; k < count[i]; k++) sum += (int64_t)from[k * step] * weight[i * MOST + k];
    return (uint8_t)(sum / ONE > 255 ? 255 : sum / ONE);
}

static void rows_are_those_of_the_definition(void **state) {
    (void)state;
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++)
        for (uint64_t seed = 0; seed < 50; seed++) {
            uint8_t found[3 * PLACES + 2];
            hu_cpu_set_isa((hu_isa)isa);
            hu_resample_axis axis = make_axis(seed);
            memset(found, 77, sizeof found);
            hu_resample_here()->row(&axis, source, found);
            for (int64_t i = 0; i < PLACES; i++)
                for (int64_t c = 0; c < 3; c++)
                    assert_int_equal(found[3 * i + c], expected(i, source + 3 * first[i] + c, 3));
            assert_int_equal(found[3 * PLACES + 1], 77);
        }
    hu_cpu_set_isa(hu_cpu_isa_native());
}

static void columns_are_those_of_the_definition(void **state) {
    (void)state;
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++)
        for (int64_t bytes = 1; bytes <= BYTES; bytes++) {
            uint8_t found[BYTES + 1];
            int32_t sums[BYTES];
            hu_cpu_set_isa((hu_isa)isa);
            hu_resample_axis axis = make_axis((uint64_t)bytes);
            for (int64_t i = 0; i < PLACES; i += 5) {
                found[bytes] = 77;
                hu_resample_here()->column(&axis, i, source, bytes, sums, found);
                for (int64_t x = 0; x < bytes; x++)
                    assert_int_equal(found[x], expected(i, source + x, bytes));
                assert_int_equal(found[bytes], 77);
            }
        }
    hu_cpu_set_isa(hu_cpu_isa_native());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_of_the_definition),
        cmocka_unit_test(columns_are_those_of_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
