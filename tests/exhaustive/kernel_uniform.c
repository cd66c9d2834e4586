/* Proof that the kernels of uniform integers equal their definition.
 *   kernel_uniform [--short] [BITS]
 * Full: all 2^32 inputs, to nearest and stochastically, on every instruction set of this machine,
 * for every width (or the one that is named) under a scale of its own: rounded, packed and
 * unpacked, and as residuals, each compared bit for bit. --short: one row in 997 of the inputs.
 * Prints one line per width and "N passed, M failed"; exit code 1 if M > 0. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/rng.h"
#include "kernel/uniform/uniform.h"
#include "reference/uniform.h"

enum { ROW = 4096 };
static const hu_random_key key = {21, 32, 43};
static uint64_t passed, failed;

/* What the definition says of a row. */
typedef struct expected {
    float y[ROW], residual[ROW], unpacked[ROW];
} expected;

static void by_reference(const hu_uniformer *u, hu_uniform_scale scale, const float *x,
                         uint64_t index, expected *e) {
    uint32_t words[ROW] = {0};
    if (u->rounding == HU_ROUND_STOCHASTIC) hu_random_words(&key, index, ROW, words);
    for (int i = 0; i < ROW; i++) {
        uint32_t code = hu_uniform_reference(scale, u->bits, u->rounding, x[i], words[i], &e->y[i],
                                             &e->residual[i]);
        float product = scale.step * (float)code;
        e->unpacked[i] = product + scale.zero;
    }
}

static int differs(const hu_uniformer *u, const char *what, const float *x, const float *y,
                   const float *wanted) {
    for (int i = 0; i < ROW; i++) {
        if (hu_f32_bits(y[i]) == hu_f32_bits(wanted[i])) continue;
        printf("%u bits %s %s %s: %a gives %a, expected %a\n", (unsigned)u->bits,
               hu_rounding_name(u->rounding), hu_isa_name(hu_cpu_isa()), what, (double)x[i],
               (double)y[i], (double)wanted[i]);
        return 1;
    }
    return 0;
}

static void check_row(const hu_uniformer *u, hu_uniform_scale scale, const float *x, uint64_t index,
                      const expected *e) {
    static float y[ROW];
    static uint16_t data[ROW];
    int bad = 0;
    hu_uniform_round(u, &scale, 1, x, y, &key, index, NULL);
    bad += differs(u, "rounded", x, y, e->y);
    hu_uniform_pack(u, &scale, 1, x, data, &key, index, NULL);
    hu_uniform_unpack(u, &scale, data, 0, ROW, y);
    bad += differs(u, "packed", x, y, e->unpacked);
    hu_uniform_residual(u, &scale, 1, x, y);
    bad += differs(u, "residual", x, y, e->residual);
    failed += (uint64_t)bad;
    passed += bad == 0;
}

/* Of each width another range, with ends of all sizes and signs. */
static hu_uniform_scale scale_for(uint32_t bits) {
    static const float ends[][2] = {{-1, 1},         {0, 6.5f},  {-3e-5f, 1e-3f}, {-2e38f, 1e38f},
                                    {-1e-7f, 2e-7f}, {100, 101}, {-7, -2.5f},     {0, 0x1p-120f}};
    const float *end = ends[bits % 8];
    return hu_uniform_scale_of(end[0], end[1], bits);
}

static void check_width(uint32_t bits, hu_rounding rounding, uint64_t step) {
    static expected e;
    static float x[ROW];
    hu_uniformer u[HU_ISA_COUNT];
    hu_uniform_scale scale = scale_for(bits);
    int isas = (int)hu_cpu_isa_native() + 1;
    for (int isa = 0; isa < isas; isa++) {
        hu_cpu_set_isa((hu_isa)isa);
        if (hu_uniformer_init(&u[isa], bits, rounding, ROW, 0) != HU_OK) failed++;
    }
    for (uint64_t start = step == ROW ? 0 : bits * ROW; start < (uint64_t)1 << 32; start += step) {
        for (uint32_t i = 0; i < ROW; i++) x[i] = hu_f32_of_bits((uint32_t)start + i);
        by_reference(&u[0], scale, x, start, &e);
        for (int isa = 0; isa < isas; isa++) check_row(&u[isa], scale, x, start, &e);
    }
}

int main(int argc, char **argv) {
    int is_short = argc > 1 && strcmp(argv[1], "--short") == 0, first = 1 + is_short;
    uint32_t only = argc > first ? (uint32_t)strtoul(argv[first], NULL, 10) : 0;
    uint64_t step = is_short ? (uint64_t)997 * ROW : ROW;
    for (uint32_t bits = 1; bits <= HU_UNIFORM_BITS_MOST; bits++) {
        if (only && bits != only) continue;
        check_width(bits, HU_ROUND_NEAREST_EVEN, step);
        check_width(bits, HU_ROUND_STOCHASTIC, step);
        printf("%u bits: %llu rows\n", (unsigned)bits, (unsigned long long)passed);
        fflush(stdout);
    }
    printf("%llu passed, %llu failed\n", (unsigned long long)passed, (unsigned long long)failed);
    return failed > 0 || passed == 0;
}
