/* Rotations by Hadamard matrices: kernels against sums by recursion bit for bit on every
 * instruction set, along lines and across them; published values; the matrix itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/bits.h"
#include "base/rng.h"
#include "kernel/hadamard/hadamard.h"
#include "reference/tile.h"

enum { MOST = 5000 };
static const hu_random_key key = {11, 12, 13};

static void fill(float *x, size_t n, int spread, uint64_t seed) {
    hu_random_key own = {seed, 3, 4};
    for (size_t i = 0; i < n; i++) {
        int exponent = (int)(hu_random_word(&own, 2 * i) % (uint32_t)(2 * spread + 1)) - spread;
        x[i] = ldexpf(hu_random_normal(&own, 7777 + i), exponent);
    }
}

static void expect(const char *what, int32_t size, size_t n, const float *y, const float *wanted) {
    for (size_t i = 0; i < n; i++)
        if (hu_f32_bits(y[i]) != hu_f32_bits(wanted[i]))
            fail_msg("%s, size %d, place %zu of %zu: %a, expected %a", what, (int)size, i, n,
                     (double)y[i], (double)wanted[i]);
}

/* Every size, whole groups and short ones, both ways, in place and not. */
static void test_lines(void **state) {
    static const size_t lengths[] = {1, 2, 3, 7, 16, 17, 31, 40, 100, 128, 1000, 1024, 1500, 4096};
    static float x[MOST], y[MOST], wanted[MOST];
    uint32_t drawn[HU_HADAMARD_MOST];
    (void)state;
    hu_hadamard_draw(&key, HU_HADAMARD_MOST, drawn);
    const uint32_t *const signs[] = {hu_hadamard_fixed(HU_SIGNS_FIXED),
                                     hu_hadamard_fixed(HU_SIGNS_PLAIN), drawn};
    for (int32_t size = 2; size <= HU_HADAMARD_MOST; size *= 2)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
            for (int way = 0; way < 2; way++)
                for (int s = 0; s < 3; s++) {
                    size_t n = lengths[l];
                    fill(x, n, l % 2 ? 3 : 60, n + (size_t)size);
                    hu_hadamard_reference(size, signs[s], (int64_t)n, x, wanted, way);
                    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
                        memset(y, 0x7F, sizeof y);
                        hu_hadamard_line_isa((hu_isa)isa, size, signs[s], n, x, y, way);
                        expect(hu_isa_name((hu_isa)isa), size, n, y, wanted);
                        memcpy(y, x, n * sizeof *y);
                        hu_hadamard_line_isa((hu_isa)isa, size, signs[s], n, y, y, way);
                        expect("in place", size, n, y, wanted);
                    }
                }
}

/* Columns are lines of the transposed matrix. */
static void test_across(void **state) {
    enum { LINES = 70, COLUMNS = 67, N = LINES * COLUMNS };
    static float x[N], y[N], turned[N], wanted[N];
    const uint32_t *signs = hu_hadamard_fixed(HU_SIGNS_FIXED);
    (void)state;
    fill(x, N, 20, 5);
    for (int l = 0; l < LINES; l++)
        for (int c = 0; c < COLUMNS; c++) turned[c * LINES + l] = x[l * COLUMNS + c];
    for (int32_t size = 2; size <= 128; size *= 2)
        for (int way = 0; way < 2; way++) {
            for (int c = 0; c < COLUMNS; c++)
                hu_hadamard_reference(size, signs, LINES, turned + c * LINES, wanted + c * LINES,
                                      way);
            for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++)
                for (int in_place = 0; in_place < 2; in_place++) {
                    if (in_place) memcpy(y, x, sizeof y);
                    hu_hadamard_across_isa((hu_isa)isa, size, signs, LINES, COLUMNS,
                                           in_place ? y : x, y, way);
                    for (int l = 0; l < LINES; l++)
                        for (int c = 0; c < COLUMNS; c++)
                            assert_int_equal(hu_f32_bits(y[l * COLUMNS + c]),
                                             hu_f32_bits(wanted[c * LINES + l]));
                }
        }
}

/* TransformerEngine's signs and matrix of 16. */
static void test_published(void **state) {
    static const float wanted[16] = {-14.5f, -7.5f, 6.5f, -.5f, 6.5f, -.5f,  -14.5f, 8.5f,
                                     7.5f,   14.5f, .5f,  1.5f, .5f,  -2.5f, 9.5f,   -15.5f};
    float x[16], y[16];
    (void)state;
    for (int i = 0; i < 16; i++) x[i] = (float)i;
    hu_hadamard_line(16, hu_hadamard_fixed(HU_SIGNS_FIXED), 16, x, y, false);
    expect("published", 16, 16, y, wanted);
    hu_hadamard_line(16, hu_hadamard_fixed(HU_SIGNS_FIXED), 16, y, y, true);
    expect("back", 16, 16, y, x);
}

/* Row i of H has the signs (-1)^(ones of i and j), over sqrt(n). */
static void test_matrix(void **state) {
    static float x[HU_HADAMARD_MOST], y[HU_HADAMARD_MOST];
    (void)state;
    for (int32_t size = 2; size <= HU_HADAMARD_MOST; size *= 2)
        for (int32_t i = 0; i < size; i++) {
            float r = (float)(1.0 / sqrt((double)size));
            memset(x, 0, sizeof x);
            x[i] = 1.0f;
            hu_hadamard_line(size, hu_hadamard_fixed(HU_SIGNS_PLAIN), (size_t)size, x, y, false);
            for (int32_t j = 0; j < size; j++)
                assert_true(y[j] == (__builtin_popcount((unsigned)(i & j)) % 2 ? -r : r));
        }
}

/* There and back: what rounding leaves, 1e-6 of the line's length. */
static void test_back(void **state) {
    static float x[1000], y[1000];
    (void)state;
    for (int32_t size = 2; size <= HU_HADAMARD_MOST; size *= 2) {
        double error = 0.0, all = 0.0;
        fill(x, 1000, 1, (uint64_t)size);
        hu_hadamard_line(size, hu_hadamard_fixed(HU_SIGNS_FIXED), 1000, x, y, false);
        hu_hadamard_line(size, hu_hadamard_fixed(HU_SIGNS_FIXED), 1000, y, y, true);
        for (int i = 0; i < 1000; i++) {
            error += ((double)y[i] - (double)x[i]) * ((double)y[i] - (double)x[i]);
            all += (double)x[i] * (double)x[i];
        }
        assert_true(sqrt(error / all) < 1e-6);
    }
}

/* A NaN or an infinity reaches its group, and no other one. */
static void test_no_numbers(void **state) {
    float x[64], y[64];
    (void)state;
    for (int special = 0; special < 2; special++)
        for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
            fill(x, 64, 2, 9);
            x[20] = special ? INFINITY : -NAN;
            hu_hadamard_line_isa((hu_isa)isa, 16, hu_hadamard_fixed(HU_SIGNS_FIXED), 64, x, y,
                                 false);
            for (int i = 0; i < 64; i++) {
                bool is_hit = i / 16 == 1;
                assert_int_equal(!isfinite(y[i]), is_hit);
                if (is_hit && !special) assert_int_equal(hu_f32_bits(y[i]), HU_F32_NAN);
            }
        }
}

static void test_signs(void **state) {
    uint32_t signs[HU_HADAMARD_MOST], other[HU_HADAMARD_MOST];
    hu_random_key next = key;
    int minus = 0, different = 0;
    (void)state;
    next.step++;
    hu_hadamard_draw(&key, HU_HADAMARD_MOST, signs);
    hu_hadamard_draw(&next, HU_HADAMARD_MOST, other);
    for (int i = 0; i < HU_HADAMARD_MOST; i++) {
        assert_int_equal(signs[i], hu_random_word(&key, (uint64_t)i) & HU_F32_SIGN);
        minus += signs[i] != 0;
        different += signs[i] != other[i];
    }
    assert_in_range(minus, 432, 592); /* 512, within 5 standard deviations */
    assert_in_range(different, 432, 592);
    assert_false(hu_hadamard_is_size(1));
    assert_false(hu_hadamard_is_size(24));
    assert_false(hu_hadamard_is_size(2048));
    assert_true(hu_hadamard_is_size(1024));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),     cmocka_unit_test(test_across),
        cmocka_unit_test(test_published), cmocka_unit_test(test_matrix),
        cmocka_unit_test(test_back),      cmocka_unit_test(test_no_numbers),
        cmocka_unit_test(test_signs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
