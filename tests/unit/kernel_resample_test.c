/* Weighted sums of bytes: every instruction set gives the bits of the definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "kernel/resample/resample.h"

enum { PLACES = 37, MOST = 9, SOURCE = 60, BYTES = SOURCE * 3, ONE = 1 << HU_RESAMPLE_BITS };

static int64_t first[PLACES + HU_RESAMPLE_GROUP], count[PLACES + HU_RESAMPLE_GROUP];
static int32_t weight[PLACES * MOST];
static _Alignas(64) int16_t halves[1 << 13];
static uint8_t source[MOST * BYTES];

/* The bodies of this machine, and what is chosen of them: the last, which may be one more. */
static const hu_resample *body(int i) {
    static const hu_resample *const of_isa[HU_ISA_COUNT] = {HU_AT_ISA(hu_resample)};
    return i <= (int)hu_cpu_isa_native() ? of_isa[i] : hu_resample_here();
}

/* Some places of up to `most` weights; every third weighs a little more than 1, as rounding may. Of
 * odd seeds they follow each other by 4/5 to 8/5 of a pixel, as those of a picture; else they lie
 * anywhere. */
static hu_resample_axis make_axis(uint64_t seed, int64_t most) {
    const hu_random_key key = {seed, hu_stream_id("test", "resample"), 0};
    for (uint64_t i = 0; i < PLACES; i++) {
        count[i] = 1 + (int64_t)hu_random_below(&key, 2 * i, (uint64_t)most);
        first[i] = (int64_t)hu_random_below(&key, 2 * i + 1, (uint64_t)(SOURCE - count[i] + 1));
        int64_t next = (int64_t)i * (4 + (int64_t)(seed / 2 % 5)) / 5;
        if (seed % 2 == 1) first[i] = next < SOURCE - count[i] ? next : SOURCE - count[i];
        int32_t left = ONE + (i % 3 == 0 ? 5 : 0);
        for (int64_t k = 0; k < count[i]; k++) {
            int32_t share = k + 1 == count[i] ? left : left / 3;
            weight[i * MOST + (uint64_t)k] = share;
            left -= share;
        }
    }
    for (uint64_t i = 0; i < sizeof source; i++)
        source[i] = i % 7 == 0 ? 255 : (uint8_t)hu_random_word(&key, 1000 + i);
    hu_resample_axis axis = {PLACES, MOST, first, count, weight, .halves = halves};
    assert_true(hu_resample_words(PLACES, MOST) <= sizeof halves / sizeof *halves);
    hu_resample_pair(&axis);
    return axis;
}

static uint8_t expected(int64_t i, const uint8_t *from, int64_t step) {
    int64_t sum = ONE / 2;
    for (int64_t k = 0; k < count[i]; k++) sum += (int64_t)from[k * step] * weight[i * MOST + k];
    return (uint8_t)(sum / ONE > 255 ? 255 : sum / ONE);
}

/* The rows lie where exactly so many bytes may be read. */
static void check_rows(const hu_resample *with, const hu_resample_axis *axis, int64_t rows) {
    enum { MOST_ROWS = 40, STRIDE = 3 * PLACES + HU_RESAMPLE_BEHIND, STEP = 7 };
    static uint8_t found[MOST_ROWS * STRIDE + 1];
    size_t bytes = (size_t)((rows - 1) * STEP + axis->reads);
    assert_true(bytes <= sizeof source);
    uint8_t *exact = malloc(bytes);
    memcpy(exact, source, bytes);
    found[rows * STRIDE] = 77;
    with->rows(axis, exact, STEP, rows, found, STRIDE);
    for (int64_t y = 0; y < rows; y++)
        for (int64_t i = 0; i < PLACES; i++)
            for (int64_t c = 0; c < 3; c++)
                assert_int_equal(found[y * STRIDE + 3 * i + c],
                                 expected(i, source + y * STEP + 3 * first[i] + c, 3));
    assert_int_equal(found[rows * STRIDE], 77);
    free(exact);
}

static void rows_are_those_of_the_definition(void **state) {
    (void)state;
    static const int64_t rows[] = {1, 2, 3, 16, 17, 23, 40};
    for (int isa = 0; isa <= (int)hu_cpu_isa_native() + 1; isa++)
        for (uint64_t seed = 0; seed < 90; seed++) {
            hu_resample_axis axis = make_axis(seed, 1 + (int64_t)seed % MOST);
            check_rows(body(isa), &axis, rows[seed % (sizeof rows / sizeof *rows)]);
        }
}

static void columns_are_those_of_the_definition(void **state) {
    (void)state;
    for (int isa = 0; isa <= (int)hu_cpu_isa_native() + 1; isa++)
        for (int64_t bytes = 1; bytes <= BYTES; bytes++) {
            uint8_t found[BYTES + 1];
            int64_t stride = bytes % 2 == 0 ? bytes : BYTES;
            hu_resample_axis axis = make_axis((uint64_t)bytes, MOST);
            for (int64_t i = 0; i < PLACES; i += 5) {
                found[bytes] = 77;
                body(isa)->column(&axis, i, source, stride, bytes, found);
                for (int64_t x = 0; x < bytes; x++)
                    assert_int_equal(found[x], expected(i, source + x, stride));
                assert_int_equal(found[bytes], 77);
            }
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_of_the_definition),
        cmocka_unit_test(columns_are_those_of_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
