/* Rounding, counting and packing in one pass are rounder and packer one after the other: every
 * mode, width of codes and instruction set, any length, wherever the arrays begin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "base/bits.h"
#include "base/rng.h"
#include "kernel/encode/encode.h"

enum { MOST = 9000 };
static const hu_random_key key = {7, 8, 9};

typedef struct block {
    float x[MOST], y[MOST], wanted[MOST];
    uint8_t codes[2 * MOST], wanted_codes[2 * MOST];
} block;
static block b;

/* Numbers around 1, among them some of all exponents and some that are not finite. In runs of some
 * thousands all are near 1, so that groups and blocks of them are normal. */
static void fill(uint32_t seed) {
    for (uint32_t i = 0; i < MOST; i++) {
        bool is_plain = (i / 2500 + seed) % 2;
        uint32_t word = hu_random_word(&key, (uint64_t)seed * MOST + i);
        uint32_t near_one = 0x3f800000u + (word & 0x87ffffff) - 0x04000000u;
        b.x[i] = hu_f32_of_bits(word % 97 == 0 ? word * 2654435761u : near_one);
        if (is_plain) b.x[i] = hu_f32_of_bits(0x3f800000u + (word & 0x80ffffff));
        if (word % 11 == 0 && !is_plain) b.x[i] = word & 64 ? 0.0f : -0.0f;
    }
}

static void assert_same(const hu_packer *packer, size_t n, const float *y,
                        const hu_round_counts *counts, const hu_round_counts *wanted) {
    if (y) assert_memory_equal(y, b.wanted, n * sizeof *y);
    assert_memory_equal(b.codes, b.wanted_codes, hu_packer_bytes(packer, n));
    assert_memory_equal(counts, wanted, sizeof *counts);
}

/* Elements first .. first+n-1 of the arrays. */
static void check(const hu_rounder *rounder, const hu_packer *packer, size_t first, size_t n) {
    hu_round_counts counts, wanted;
    const float *x = b.x + first;
    hu_round_counts_clear(&counts);
    hu_round_counts_clear(&wanted);
    hu_rounder_run(rounder, n, x, b.wanted, &key, first, &wanted);
    hu_packer_pack(packer, n, b.wanted, b.wanted_codes, NULL);
    hu_encode(rounder, packer, n, x, b.y, b.codes, &key, first, &counts);
    assert_same(packer, n, b.y, &counts, &wanted);
    hu_round_counts_clear(&counts);
    memset(b.codes, 0, sizeof b.codes);
    hu_encode(rounder, packer, n, x, NULL, b.codes, &key, first, &counts);
    assert_same(packer, n, NULL, &counts, &wanted);
    hu_round_counts_clear(&counts);
    hu_round_counts_clear(&wanted);
    memset(b.codes, 0, sizeof b.codes);
    hu_count_on_grid(rounder, n, b.wanted, &wanted);
    hu_encode_on_grid(rounder, packer, n, b.wanted, b.codes, &counts);
    assert_same(packer, n, NULL, &counts, &wanted);
}

static void one_pass_is_rounder_and_packer(void **state) {
    (void)state;
    static const char *const names[] = {"e5m2",       "fp(4,3,4)",    "e4m3fn",  "e4m3fnuz",
                                        "e4m3:sub=n", "e2m1",         "fp16",    "1/6/9/d",
                                        "bf16",       "bf16:ovf=sat", "1/6/9/n", "fp(5,10,3)",
                                        "fp(2,13,1)", "fp(7,8,10)"};
    static const size_t lengths[] = {0, 1, 63, 64, 255, 256, 257, 321, 1000, 4096, 5000, MOST - 1};
    for (size_t f = 0; f < sizeof names / sizeof *names; f++) {
        hu_format format;
        assert_int_equal(hu_format_parse(names[f], &format), HU_OK);
        fill((uint32_t)f);
        for (int code_bits = 0; code_bits <= 16; code_bits += 8) {
            if (code_bits && (uint32_t)code_bits < hu_format_bits(&format)) continue;
            for (int mode = 0; mode < HU_ROUND_COUNT; mode++)
                for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
                    hu_rounder rounder;
                    hu_packer packer;
                    hu_cpu_set_isa((hu_isa)isa);
                    assert_int_equal(hu_rounder_init(&rounder, &format, (hu_rounding)mode), HU_OK);
                    assert_int_equal(hu_packer_init(&packer, &format, code_bits), HU_OK);
                    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
                        check(&rounder, &packer, l % 2, lengths[l]);
                }
        }
    }
}

/* The formats of hfp8 and the usual ones of 16 bits have kernels, those without -0 or subnormals,
 * in wider codes and other modes have none. */
static void kernels_serve_what_they_can(void **state) {
    (void)state;
    static const struct {
        const char *format;
        hu_rounding rounding;
        int code_bits, serves;
    } cases[] = {
        {"e5m2", HU_ROUND_NEAREST_EVEN, 8, 1},          {"fp(4,3,4)", HU_ROUND_NEAREST_EVEN, 8, 1},
        {"e4m3fn", HU_ROUND_NEAREST_EVEN, 8, 1},        {"e5m2", HU_ROUND_STOCHASTIC, 8, 0},
        {"e5m2", HU_ROUND_NEAREST_EVEN, 16, 0},         {"e5m2", HU_ROUND_NEAREST_EVEN, 0, 0},
        {"e4m3fnuz", HU_ROUND_NEAREST_EVEN, 8, 0},      {"e4m3:sub=n", HU_ROUND_NEAREST_EVEN, 8, 0},
        {"e4m3fn:nan=nan", HU_ROUND_TOWARD_ZERO, 8, 0}, {"fp16", HU_ROUND_NEAREST_EVEN, 16, 1},
        {"1/6/9/d", HU_ROUND_NEAREST_EVEN, 16, 1},      {"bf16", HU_ROUND_NEAREST_EVEN, 16, 1},
        {"bf16", HU_ROUND_NEAREST_EVEN, 0, 0},          {"bf16", HU_ROUND_STOCHASTIC, 16, 0},
        {"1/6/9/n", HU_ROUND_NEAREST_EVEN, 16, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hu_format format;
        hu_rounder rounder;
        hu_packer packer;
        assert_int_equal(hu_format_parse(cases[i].format, &format), HU_OK);
        assert_int_equal(hu_rounder_init(&rounder, &format, cases[i].rounding), HU_OK);
        assert_int_equal(hu_packer_init(&packer, &format, cases[i].code_bits), HU_OK);
        assert_int_equal(hu_encode_serves(&rounder, &packer), cases[i].serves);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_pass_is_rounder_and_packer),
        cmocka_unit_test(kernels_serve_what_they_can),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
