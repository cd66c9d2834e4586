/* Sums in lanes against their definition, cut into parts anywhere, on all instruction sets. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"
#include "base/cpu.h"
#include "base/rng.h"
#include "kernel/reduce/channel.h"

enum { MOST = 4099 };
static float x[MOST], y[MOST];
static double term[MOST];

/* Finite numbers of all exponents whose products are finite, subnormals and zeros among them. */
static void fill(uint64_t stream) {
    hu_random_key key = {3, stream, 0};
    uint32_t words[2 * MOST];
    hu_random_words(&key, 0, 2 * MOST, words);
    for (int i = 0; i < MOST; i++) {
        x[i] = hu_f32_of_bits(words[2 * i] & 0xBFFFFFFFu);
        y[i] = hu_f32_of_bits(words[2 * i + 1] & 0xBFFFFFFFu);
        if (i % 31 == 7) y[i] = 0.0f;
        term[i] = (double)x[i] * (double)y[i];
    }
}

static hu_lanes plainly(int64_t n) {
    hu_lanes lanes = {{0.0}};
    for (int64_t i = 0; i < n; i++) lanes.sum[i % HU_LANES] += term[i];
    return lanes;
}

static void parts_add_up_to_the_definition(void **state) {
    static const int64_t cuts[] = {1, 7, 15, 16, 17, 100, 1024, MOST};
    (void)state;
    fill(1);
    hu_lanes wanted = plainly(MOST);
    for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
        hu_lanes of_terms = {{0.0}}, of_products = {{0.0}};
        for (int64_t at = 0, n; at < MOST; at += n) {
            n = cuts[c] < MOST - at ? cuts[c] : MOST - at;
            hu_lanes_add(&of_terms, at, n, term + at);
            hu_lanes_add_products(&of_products, at, n, x + at, y + at);
        }
        assert_memory_equal(&of_terms, &wanted, sizeof wanted);
        assert_memory_equal(&of_products, &wanted, sizeof wanted);
    }
}

static void instruction_sets_agree(void **state) {
    static const hu_reduce_kernels *const of_isa[HU_ISA_COUNT] = {HU_AT_ISA(hu_reduce_columns)};
    (void)state;
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++)
        for (int64_t n = 0; n < MOST; n = 2 * n + 1) {
            fill((uint64_t)n);
            hu_lanes wanted = plainly(n), found = {{0.0}};
            of_isa[isa]->lane_products(n, x, y, found.sum);
            assert_memory_equal(&found, &wanted, sizeof wanted);
        }
}

static void totals_are_added_in_order(void **state) {
    hu_lanes lanes = {{1e16, 1.0, -1e16, 1.0}};
    (void)state;
    assert_true(hu_lanes_total(&lanes) == 1.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_add_up_to_the_definition),
        cmocka_unit_test(instruction_sets_agree),
        cmocka_unit_test(totals_are_added_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
