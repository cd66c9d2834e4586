/* Arrays of millions of numbers, which kernels take in parts and past the caches: every lane and
 * every part counts, and no other mode goes the way of nearest-even. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"
#include "base/rng.h"
#include "kernel/encode/encode.h"

enum { N = (1 << 23) + 53, ROUND_PART = 100000 };
static const hu_random_key key = {11, 12, 13};
static float *x, *y, *z;
static uint8_t *codes, *wanted_codes;

static int make_arrays(void **state) {
    (void)state;
    x = malloc((size_t)N * sizeof *x);
    y = malloc((size_t)N * sizeof *y);
    z = malloc((size_t)N * sizeof *z);
    codes = malloc(N), wanted_codes = malloc(N);
    return x && y && z && codes && wanted_codes ? 0 : -1;
}

static int free_arrays(void **state) {
    (void)state;
    free(x), free(y), free(z);
    free(codes), free(wanted_codes);
    return 0;
}

/* One largest and one smallest number among equal ones, in every lane of a vector of 16 and at both
 * ends of the array: the range of exponents is theirs. */
static void the_extremes_of_every_lane_are_found(void **state) {
    (void)state;
    static const char *const names[] = {"1/6/9", "bf16"};
    for (size_t i = 0; i < N; i++) x[i] = 1.0f;
    for (size_t at = 0; at < 17; at++) {
        hu_format format;
        hu_rounder r;
        hu_round_counts counts;
        size_t high = at < 16 ? (size_t)700000 * 8 + at : 0, low = at < 16 ? at * 16 + at : N - 1;
        x[high] = hu_f32_of_bits(0x7f7fffff), x[low] = hu_f32_of_bits(1);
        assert_int_equal(hu_format_parse(names[at % 2], &format), HU_OK);
        assert_int_equal(hu_rounder_init(&r, &format, HU_ROUND_NEAREST_EVEN), HU_OK);
        hu_round_counts_clear(&counts);
        hu_rounder_run(&r, N, x, y, NULL, 0, &counts);
        assert_int_equal(counts.max_exponent, 127);
        assert_int_equal(counts.min_exponent, -149);
        assert_int_equal(counts.elements, N);
        assert_int_equal(counts.overflow, 1);
        assert_int_equal(counts.zero, 1);
        assert_int_equal(counts.underflow, 1);
        x[high] = x[low] = 1.0f;
        x[high] = 3.0f, x[low] = 0.25f; /* no overflow among them */
        hu_round_counts_clear(&counts);
        hu_rounder_run(&r, N, x, y, NULL, 0, &counts);
        assert_int_equal(counts.max_exponent, 1);
        assert_int_equal(counts.min_exponent, -2);
        x[high] = x[low] = 1.0f;
    }
}

/* A large array is its parts, which go another way, with their counts: groups of ordinary numbers,
 * groups with one that overflows, infinities and NaNs among them, and groups of all kinds. */
static void every_kind_of_group_is_its_part(void **state) {
    (void)state;
    static const char *const names[] = {"1/6/9", "fp16", "bf16", "e4m3fn", "1/6/9/n", "e4m3fnuz"};
    static const uint32_t rare[] = {0x7f800000, 0xff800001, 0x7fc00001, 0x7f7fffff, 0xff000000};
    for (uint32_t i = 0; i < N; i++) {
        uint32_t word = i * 2654435761u;
        x[i] = hu_f32_of_bits(i / 4096 % 8 == 7 ? word : 0x3a000000u + (word & 0x85ffffff));
        if (word % 1009 == 0) x[i] = hu_f32_of_bits(rare[word % 5]);
        if (word % 13 == 0) x[i] = word & 64 ? 0.0f : -0.0f;
    }
    for (size_t f = 0; f < sizeof names / sizeof *names; f++)
        for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
            hu_format format;
            hu_rounder r;
            hu_round_counts counts, wanted;
            hu_cpu_set_isa((hu_isa)isa);
            assert_int_equal(hu_format_parse(names[f], &format), HU_OK);
            assert_int_equal(hu_rounder_init(&r, &format, HU_ROUND_NEAREST_EVEN), HU_OK);
            hu_round_counts_clear(&counts), hu_round_counts_clear(&wanted);
            hu_rounder_run(&r, N, x, y, NULL, 0, &counts);
            for (size_t at = 0; at < N; at += ROUND_PART)
                hu_rounder_run(&r, N - at < ROUND_PART ? N - at : ROUND_PART, x + at, z + at, NULL,
                               at, &wanted);
            assert_memory_equal(y, z, (size_t)N * sizeof *y);
            assert_memory_equal(&counts, &wanted, sizeof counts);
        }
}

/* The whole array is its parts, in modes that no store past the caches serves. */
static void other_modes_are_their_parts(void **state) {
    (void)state;
    static const hu_rounding modes[] = {HU_ROUND_TOWARD_ZERO, HU_ROUND_STOCHASTIC};
    for (size_t i = 0; i < N; i++) x[i] = hu_f32_of_bits((uint32_t)(i * 2654435761u));
    for (size_t m = 0; m < 2; m++) {
        hu_format format;
        hu_rounder r;
        assert_int_equal(hu_format_parse(m ? "bf16" : "fp16", &format), HU_OK);
        assert_int_equal(hu_rounder_init(&r, &format, modes[m]), HU_OK);
        hu_rounder_run(&r, N, x, y, &key, 0, NULL);
        for (size_t at = 0; at < N; at += ROUND_PART)
            hu_rounder_run(&r, N - at < ROUND_PART ? N - at : ROUND_PART, x + at, z + at, &key, at,
                           NULL);
        assert_memory_equal(y, z, (size_t)N * sizeof *y);
    }
}

/* More numbers than one part of the kernel of 8-bit codes has, with and without the rounded ones.
 */
static void encoded_arrays_are_rounded_and_packed(void **state) {
    (void)state;
    enum { LARGE = (1 << 21) + 321 };
    for (size_t i = 0; i < LARGE; i++) {
        uint32_t word = (uint32_t)(i * 2654435761u);
        x[i] = hu_f32_of_bits(word % 97 ? 0x3f800000u + (word & 0x87ffffffu) - 0x04000000u : word);
    }
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
        hu_format format;
        hu_rounder r;
        hu_packer p;
        hu_round_counts counts, wanted;
        hu_cpu_set_isa((hu_isa)isa);
        assert_int_equal(hu_format_parse("e5m2", &format), HU_OK);
        assert_int_equal(hu_rounder_init(&r, &format, HU_ROUND_NEAREST_EVEN), HU_OK);
        assert_int_equal(hu_packer_init(&p, &format, 8), HU_OK);
        hu_round_counts_clear(&wanted);
        hu_rounder_run(&r, LARGE, x, z, NULL, 0, &wanted);
        hu_packer_pack(&p, LARGE, z, wanted_codes, NULL);
        for (int keeps = 0; keeps < 2; keeps++) {
            memset(codes, 0x5a, LARGE + 64);
            memset(y, 0x55, (LARGE + 64) * sizeof *y);
            hu_round_counts_clear(&counts);
            hu_encode(&r, &p, LARGE, x, keeps ? y : NULL, codes, NULL, 0, &counts);
            assert_memory_equal(codes, wanted_codes, LARGE);
            assert_memory_equal(&counts, &wanted, sizeof counts);
            if (keeps) assert_memory_equal(y, z, LARGE * sizeof *y);
            for (size_t i = LARGE; i < LARGE + 64; i++) {
                assert_int_equal(codes[i], 0x5a);
                assert_int_equal(hu_f32_bits(y[i]), 0x55555555);
            }
        }
    }
    hu_cpu_set_isa(hu_cpu_isa_native());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_extremes_of_every_lane_are_found),
        cmocka_unit_test(every_kind_of_group_is_its_part),
        cmocka_unit_test(other_modes_are_their_parts),
        cmocka_unit_test(encoded_arrays_are_rounded_and_packed),
    };
    return cmocka_run_group_tests(tests, make_arrays, free_arrays);
}
