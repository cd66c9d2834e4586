/* Numbers drawn many at once are those drawn one by one, on every instruction set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "base/elementary.h"
#include "base/rng.h"
#include "kernel/elementary/elementary.h"

enum { COUNT = 40000 };

static const hu_random_key keys[] = {{0, 0, 0}, {1, 0x57ea3, 9}, {~UINT64_C(0), ~UINT64_C(0), 3}};
enum { KEYS = sizeof keys / sizeof keys[0] };

static void expect_equal(const float *found, const float *expected, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (memcmp(&found[i], &expected[i], sizeof *found) != 0)
            fail_msg("%s, number %zu: found %a, expected %a", hu_isa_name(hu_cpu_isa()), i,
                     (double)found[i], (double)expected[i]);
}

static void on_every_isa(void (*check)(void)) {
    hu_isa best = hu_cpu_isa();
    for (int isa = HU_ISA_SCALAR; isa <= (int)best; isa++) {
        hu_cpu_set_isa((hu_isa)isa);
        check();
    }
    hu_cpu_set_isa(best);
}

/* Any start and length: odd ones, shorter and longer than what is drawn in one turn, and across the
 * carry of the counter. */
static void check_sequences(void) {
    static const uint64_t starts[] = {0, 1, 7, 1023, (UINT64_C(1) << 33) - 700};
    static const size_t counts[] = {0, 1, 3, 17, 511, 512, 513, 2000};
    static float found[COUNT], expected[COUNT];
    for (size_t k = 0; k < KEYS; k++)
        for (size_t s = 0; s < sizeof starts / sizeof *starts; s++)
            for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
                size_t n = counts[c];
                for (size_t i = 0; i < n; i++)
                    expected[i] = hu_random_normal(&keys[k], starts[s] + i);
                hu_draw_normals(&keys[k], starts[s], n, found);
                expect_equal(found, expected, n);
                for (size_t i = 0; i < n; i++)
                    expected[i] = hu_random_uniform(&keys[k], starts[s] + i);
                hu_draw_uniforms(&keys[k], starts[s], n, found);
                expect_equal(found, expected, n);
            }
}

static void check_many(void) {
    static float found[COUNT], expected[COUNT];
    for (uint64_t i = 0; i < COUNT; i++) expected[i] = hu_random_normal(&keys[1], i);
    hu_draw_normals(&keys[1], 0, COUNT, found);
    expect_equal(found, expected, COUNT);
}

static float normal_of(uint32_t first, uint32_t second) {
    double u = ((double)first + 1.0) * 0x1p-32;
    return (float)(sqrt(-2.0 * hu_log(u)) * hu_cos_turns(second));
}

/* Words around every place where the functions change branches. */
static void check_edges(void) {
    static const uint32_t firsts[] = {0,          1,          2,          0x5a827998,
                                      0x5a827999, 0x5a82799a, 0x7fffffff, 0xb504f332,
                                      0xb504f333, 0xb504f334, 0xfffffffe, 0xffffffff};
    enum { FIRSTS = sizeof firsts / sizeof *firsts, EIGHTHS = 8, AROUND = 5 };
    enum { CASES = FIRSTS * EIGHTHS * AROUND };
    uint32_t words[2 * CASES];
    float found[CASES], expected[CASES];
    size_t n = 0;
    for (size_t f = 0; f < FIRSTS; f++)
        for (uint32_t e = 0; e < EIGHTHS; e++)
            for (uint32_t d = 0; d < AROUND; d++, n++) {
                words[2 * n] = firsts[f];
                words[2 * n + 1] = (e << 29) + d - AROUND / 2;
                expected[n] = normal_of(words[2 * n], words[2 * n + 1]);
            }
#if defined(__x86_64__)
    static hu_normals_fn *const of_isa[] = {hu_normals_scalar, hu_normals_avx2, hu_normals_avx512};
    of_isa[hu_cpu_isa()](n, words, found);
#else
    hu_normals_scalar(n, words, found);
#endif
    expect_equal(found, expected, n);
}

static void sequences(void **state) {
    (void)state;
    on_every_isa(check_sequences);
    on_every_isa(check_many);
}

static void edges(void **state) {
    (void)state;
    on_every_isa(check_edges);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sequences), cmocka_unit_test(edges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
