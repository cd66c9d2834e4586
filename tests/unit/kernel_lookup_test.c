/* Bytes as floats: every instruction set gives the bits of the definition, and touches nothing
 * else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "kernel/lookup/lookup.h"

enum { MOST = 70, CHANNELS = HU_LOOKUP_CHANNELS };

static const float zero[CHANNELS], one[CHANNELS] = {1, 1, 1};
static const float mean[CHANNELS] = {0.485f, 0.456f, 0.406f},
                   std[CHANNELS] = {0.229f, 0.224f, 0.225f};

static float expected(float divisor, const float *m, const float *s, uint8_t byte, int64_t c) {
    volatile float unit = (float)byte / divisor, less = unit - m[c];
    return less / s[c];
}

/* Each row lies in memory of its own, so that reading beside it is seen. */
static void check_rows(const hu_lookup *lookup, float divisor, const float *m, const float *s) {
    const hu_random_key key = {7, hu_stream_id("test", "lookup"), 0};
    for (int64_t channels = 1; channels <= CHANNELS; channels++)
        for (int64_t count = 1; count <= MOST; count++)
            for (int mirrored = 0; mirrored < 2; mirrored++) {
                float found[MOST * CHANNELS + 1];
                size_t bytes = (size_t)(count * channels);
                uint8_t *row = malloc(bytes);
                for (size_t i = 0; i < bytes; i++)
                    row[i] = (uint8_t)hu_random_word(&key, (uint64_t)count * 1000 + i);
                found[bytes] = 77.0f;
                hu_lookup_here()->row(lookup, row + (mirrored ? (count - 1) * channels : 0),
                                      mirrored == 1, count, channels, found);
                for (int64_t x = 0; x < count; x++)
                    for (int64_t c = 0; c < channels; c++) {
                        int64_t from = mirrored ? count - 1 - x : x;
                        float is = found[x * channels + c];
                        float want = expected(divisor, m, s, row[from * channels + c], c);
                        assert_memory_equal(&is, &want, sizeof is);
                    }
                assert_true(found[bytes] == 77.0f);
                free(row);
            }
}

static void check(float divisor, const float *m, const float *s) {
    hu_lookup lookup;
    hu_lookup_normalise(divisor, m, s, &lookup);
    assert_true(lookup.is_product);
    for (int without = 0; without < 2; without++)
        for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
            lookup.is_product = without == 0;
            hu_cpu_set_isa((hu_isa)isa);
            check_rows(&lookup, divisor, m, s);
        }
    hu_cpu_set_isa(hu_cpu_isa_native());
}

static void rows_are_those_of_the_definition(void **state) {
    (void)state;
    check(255.0f, mean, std);
    check(255.0f, zero, one);
    check(127.5f, one, one);
    check(1.0f, zero, one);
}

/* Of many means and deviations: what is_product promises holds for every byte; nearly all have it.
 */
static void products_are_quotients(void **state) {
    (void)state;
    enum { TIMES = 2000 };
    const hu_random_key key = {11, hu_stream_id("test", "quotients"), 0};
    int have = 0;
    for (uint64_t t = 0; t < TIMES; t++) {
        float m[CHANNELS], s[CHANNELS];
        hu_lookup lookup;
        for (uint64_t c = 0; c < CHANNELS; c++) {
            m[c] = (float)hu_random_word(&key, 6 * t + c) / 4294967296.0f;
            s[c] = 0.01f + (float)hu_random_word(&key, 6 * t + 3 + c) / 4294967296.0f;
        }
        hu_lookup_normalise(255.0f, m, s, &lookup);
        have += lookup.is_product;
        for (int byte = 0; byte < HU_LOOKUP_BYTES; byte++)
            for (int64_t c = 0; c < CHANNELS; c++) {
                float want = expected(255.0f, m, s, (uint8_t)byte, c);
                assert_memory_equal(&lookup.value[byte][c], &want, sizeof want);
            }
        if (t % 100 == 0 && lookup.is_product) check_rows(&lookup, 255.0f, m, s);
    }
    assert_true(have > TIMES * 9 / 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_of_the_definition),
        cmocka_unit_test(products_are_quotients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
