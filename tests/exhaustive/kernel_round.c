/* Proof that the rounding kernels equal the integer reference.
 *   kernel_round [--short] [FORMAT [VARIANT]]
 * Full: every variant of round.list, every instruction set of this machine, all 2^32 inputs, each
 * compared with hu_format_round bit for bit, without and with counters.
 * --short: all 2^32 inputs for the fast nearest-even variant of two formats, where the reference is
 * evaluated at the steps only (as a monotone function it is constant between them; found by
 * bisection); for every format and variant the values, ties and their neighbours.
 * Prints one line per check and "N passed, M failed"; exit code 1 if M > 0. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "format/value.h"
#include "kernel/round/round.h"

enum { BLOCK = 4096 };
static const hu_random_key key = {11, 22, 33};
static const char *const formats[] = {"fp16", "bf16",   "1/6/9/d", "1/6/9/n",
                                      "e5m2", "e4m3fn", "e2m1",    "fp(4,3,4)"};
static const char *const swept[] = {"fp16", "e5m2"};

/* One variant for one format on all instruction sets. */
typedef struct check {
    const char *format_name;
    const hu_round_variant *variant;
    hu_format format;
    hu_rounder rounders[HU_ISA_COUNT];
    int isas;
} check;

/* From the magnitude `first` on the result is `result`, up to the next step. */
typedef struct step {
    uint32_t first, result;
} step;

static uint32_t reference(const check *c, uint32_t bits, uint32_t word) {
    return hu_f32_bits(
        hu_format_round(&c->format, c->variant->rounding, hu_f32_of_bits(bits), word));
}

static void report(const check *c, int isa, const float *x, const float *y,
                   const uint32_t *wanted) {
    size_t i = 0;
    while (hu_f32_bits(y[i]) == wanted[i]) i++;
#pragma omp critical
    printf("%s %s %s: input %08x gives %08x, expected %08x\n", c->format_name, c->variant->name,
           hu_isa_name((hu_isa)isa), hu_f32_bits(x[i]), hu_f32_bits(y[i]), wanted[i]);
}

/* n <= BLOCK inputs whose random words start at index first; returns the failures. */
static uint64_t compare(const check *c, size_t n, const float *x, uint64_t first,
                        const uint32_t *wanted) {
    float y[BLOCK];
    hu_round_counts counts;
    uint64_t failures = 0;
    for (int isa = 0; isa < c->isas; isa++)
        for (int counting = 0; counting < 2; counting++) {
            hu_round_counts_clear(&counts);
            hu_rounder_run(&c->rounders[isa], n, x, y, &key, first, counting ? &counts : NULL);
            if (memcmp(y, wanted, n * sizeof *y) == 0) continue;
            if (failures++ == 0) report(c, isa, x, y, wanted);
        }
    return failures;
}

static void fill_inputs(uint32_t first, float *x) {
    for (uint32_t i = 0; i < BLOCK; i++) x[i] = hu_f32_of_bits(first + i);
}

static uint64_t check_all_inputs(const check *c) {
    uint64_t failures = 0;
    int is_random = c->variant->rounding == HU_ROUND_STOCHASTIC;
#pragma omp parallel for reduction(+ : failures) schedule(dynamic, 64)
    for (uint32_t block = 0; block < (uint32_t)(((uint64_t)1 << 32) / BLOCK); block++) {
        float x[BLOCK];
        uint32_t wanted[BLOCK], words[BLOCK] = {0}, first = block * BLOCK;
        if (failures) continue;
        fill_inputs(first, x);
        if (is_random) hu_random_words(&key, first, BLOCK, words);
        for (uint32_t i = 0; i < BLOCK; i++) wanted[i] = reference(c, first + i, words[i]);
        failures += compare(c, BLOCK, x, first, wanted);
    }
    return failures;
}

/* First magnitude above `first` with another result; at most infinity. */
static uint32_t next_step(const check *c, uint32_t sign, uint32_t first) {
    uint32_t result = reference(c, sign | first, 0), same = first, stride = 1;
    while (same + stride < HU_F32_INFINITY && reference(c, sign | (same + stride), 0) == result) {
        same += stride;
        stride *= 2;
    }
    for (; stride > 0; stride /= 2)
        if (same + stride < HU_F32_INFINITY && reference(c, sign | (same + stride), 0) == result)
            same += stride;
    return same + 1;
}

/* Steps of one sign, closed by infinity; the caller frees them. */
static step *find_steps(const check *c, uint32_t sign) {
    size_t capacity = 2 * (hu_format_limits_of(&c->format).codes + 4), count = 0;
    step *steps = malloc(capacity * sizeof *steps);
    for (uint32_t at = 0; steps && at < HU_F32_INFINITY; at = next_step(c, sign, at))
        steps[count++] = (step){at, reference(c, sign | at, 0)};
    if (steps) steps[count] = (step){HU_F32_INFINITY, 0};
    return steps;
}

static void fill_wanted(const step *steps, uint32_t first, uint32_t *wanted) {
    uint32_t i = 0;
    while (steps[1].first <= first) steps++;
    while (i < BLOCK) {
        uint32_t end = steps[1].first - first < BLOCK ? steps[1].first - first : BLOCK;
        while (i < end) wanted[i++] = steps->result;
        steps++;
    }
}

static const step *step_of(const step *steps, uint32_t magnitude) {
    size_t low = 0, high = 1;
    while (steps[high].first <= magnitude) {
        if (steps[high].first == HU_F32_INFINITY) break;
        low = high++;
    }
    return steps + low;
}

/* Specials, evaluated one by one. */
static uint64_t check_specials(const check *c, uint32_t sign) {
    uint64_t failures = 0;
    for (uint32_t first = HU_F32_INFINITY; first < HU_F32_SIGN; first += BLOCK) {
        float x[BLOCK];
        uint32_t wanted[BLOCK];
        fill_inputs(sign | first, x);
        for (uint32_t i = 0; i < BLOCK; i++) wanted[i] = reference(c, sign | (first + i), 0);
        failures += compare(c, BLOCK, x, 0, wanted);
    }
    return failures;
}

static uint64_t sweep_sign(const check *c, uint32_t sign) {
    enum { SPAN = 2048 }; /* blocks of one task: one search for its first step */
    uint64_t failures = check_specials(c, sign);
    step *steps = find_steps(c, sign);
    if (!steps) return 1;
#pragma omp parallel for reduction(+ : failures) schedule(dynamic)
    for (uint32_t task = 0; task < (HU_F32_INFINITY / BLOCK + SPAN - 1) / SPAN; task++) {
        const step *at = step_of(steps, task * SPAN * BLOCK);
        for (uint32_t b = 0; b < SPAN; b++) {
            float x[BLOCK];
            uint32_t wanted[BLOCK], first = (task * SPAN + b) * BLOCK;
            if (first >= HU_F32_INFINITY) break;
            fill_inputs(sign | first, x);
            while (at[1].first <= first) at++;
            fill_wanted(at, first, wanted);
            failures += compare(c, BLOCK, x, 0, wanted);
        }
    }
    free(steps);
    return failures;
}

/* Inputs gathered one by one, compared by the block. */
typedef struct gathered {
    float x[BLOCK];
    uint32_t wanted[BLOCK];
    size_t count;
    uint64_t first, failures;
} gathered;

static void flush(const check *c, gathered *g) {
    g->failures += compare(c, g->count, g->x, g->first, g->wanted);
    g->first += g->count;
    g->count = 0;
}

static void gather(const check *c, gathered *g, uint32_t bits) {
    int is_random = c->variant->rounding == HU_ROUND_STOCHASTIC;
    uint32_t word = is_random ? hu_random_word(&key, g->first + g->count) : 0;
    g->x[g->count] = hu_f32_of_bits(bits);
    g->wanted[g->count++] = reference(c, bits, word);
    if (g->count == BLOCK) flush(c, g);
}

/* Every value, the tie above it and their neighbours, of both signs. */
static uint64_t check_ties(const check *c) {
    static gathered g;
    memset(&g, 0, sizeof g);
    uint32_t code_max = hu_format_code_max(&c->format);
    for (uint32_t code = 0; code <= code_max; code++) {
        double low = hu_f32_of_bits(hu_format_magnitude_bits(&c->format, code));
        double high = 2 * hu_format_limits_of(&c->format).overflow_threshold - low;
        if (code < code_max) high = hu_f32_of_bits(hu_format_magnitude_bits(&c->format, code + 1));
        uint32_t value = hu_f32_bits((float)low), tie = hu_f32_bits((float)((low + high) / 2));
        for (uint32_t near = 0; near < 3; near++)
            for (uint32_t sign = 0; sign < 2; sign++) {
                gather(c, &g, (value + near - (value > 0)) | sign << 31);
                gather(c, &g, (tie + near - 1) | sign << 31);
            }
    }
    flush(c, &g);
    return g.failures;
}

static int is_swept(const check *c) {
    for (size_t i = 0; i < sizeof swept / sizeof swept[0]; i++)
        if (strcmp(swept[i], c->format_name) == 0)
            return c->variant->rounding == HU_ROUND_NEAREST_EVEN &&
                   c->variant->route != HU_ROUTE_INTEGER;
    return 0;
}

static uint64_t run(check *c, int is_short) {
    for (c->isas = 0; c->isas <= (int)hu_cpu_isa_native(); c->isas++)
        if (hu_rounder_init_variant(&c->rounders[c->isas], &c->format, c->variant,
                                    (hu_isa)c->isas) != HU_OK)
            return 1;
    if (!is_short) return check_all_inputs(c);
    uint64_t failures = check_ties(c);
    if (is_swept(c)) failures += sweep_sign(c, 0) + sweep_sign(c, HU_F32_SIGN);
    return failures;
}

int main(int argc, char **argv) {
    int is_short = argc > 1 && strcmp(argv[1], "--short") == 0, passed = 0, failed = 0;
    const char *only_format = argc > 1 + is_short ? argv[1 + is_short] : NULL;
    const char *only_variant = argc > 2 + is_short ? argv[2 + is_short] : NULL;
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++)
        for (size_t v = 0; v < hu_round_variant_count(); v++) {
            static check c;
            c = (check){.format_name = formats[f], .variant = hu_round_variant_at(v)};
            if (only_format && strcmp(only_format, formats[f]) != 0) continue;
            if (only_variant && strcmp(only_variant, c.variant->name) != 0) continue;
            if (hu_format_parse(formats[f], &c.format) != HU_OK) return 2;
            if (!hu_round_route_serves(c.variant->route, c.variant->rounding, &c.format)) continue;
            uint64_t failures = run(&c, is_short);
            printf("%-4s %s %s on %d instruction sets\n", failures ? "FAIL" : "ok", formats[f],
                   c.variant->name, c.isas);
            fflush(stdout);
            *(failures ? &failed : &passed) += 1;
        }
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0 || passed == 0;
}
