/* Proof that the rounding kernels equal the integer reference, bit for bit.
 *   kernel_round [--short] [FORMAT [VARIANT]]        FORMAT in any spelling
 * Long: all 2^32 inputs, every instruction set of this machine, without and with counters:
 *   - nearest-even, all 168 formats of 2 to 8 exponent and 0 to 23 fraction bits
 *   - every variant of round.list, the named formats
 *   - nearest-even, every kind of specials, overflow, subnormals and NaN, four named formats
 * The reference is evaluated where its result changes: a monotone function with equal values at
 * both ends of an interval is constant between them. Stochastic rounding and NaNs: one by one.
 * Short: the boundary inputs (boundary.h) of all these, every option of every named format, and
 * a block in 17 of all inputs for fp16. Prints one line per check and "N passed, M failed"; exit
 * code 1 if M > 0. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/rng.h"
#include "boundary.h"
#include "format/value.h"
#include "kernel/round/round.h"

enum { BLOCK = 4096, NAME_BYTES = 80, SHARE = 17 };
static const hu_random_key key = {11, 22, 33};

/* One variant for one format on all instruction sets. */
typedef struct check {
    char format_name[NAME_BYTES];
    const hu_round_variant *variant;
    hu_format format;
    hu_rounder rounders[HU_ISA_COUNT];
    int isas;
} check;

/* What the command line asks for; format: as hu_format_print writes it, "" for all. */
typedef struct request {
    int is_short;
    char format[NAME_BYTES];
    const char *variant;
    int passed, failed;
} request;

static uint32_t reference(const check *c, uint32_t bits, uint32_t word) {
    return hu_f32_bits(
        hu_format_round(&c->format, c->variant->rounding, hu_f32_of_bits(bits), word));
}

static void report(const check *c, int isa, size_t n, const float *x, const float *y,
                   const uint32_t *wanted) {
    size_t i = 0;
    while (i < n && hu_f32_bits(y[i]) == wanted[i]) i++;
#pragma omp critical
    if (i < n)
        printf("%s %s %s: input %08x gives %08x, expected %08x\n", c->format_name, c->variant->name,
               hu_isa_name((hu_isa)isa), hu_f32_bits(x[i]), hu_f32_bits(y[i]), wanted[i]);
    else
        printf("%s %s %s: other counts than scalar\n", c->format_name, c->variant->name,
               hu_isa_name((hu_isa)isa));
}

/* n <= BLOCK inputs whose random words start at index first; returns the failures. */
static uint64_t compare(const check *c, size_t n, const float *x, uint64_t first,
                        const uint32_t *wanted) {
    float y[BLOCK];
    hu_round_counts counts[HU_ISA_COUNT];
    uint64_t failures = 0;
    for (int isa = 0; isa < c->isas; isa++)
        for (int counting = 0; counting < 2; counting++) {
            hu_round_counts_clear(&counts[isa]);
            hu_rounder_run(&c->rounders[isa], n, x, y, &key, first, counting ? &counts[isa] : NULL);
            int is_wrong = memcmp(y, wanted, n * sizeof *y) != 0;
            if (counting) is_wrong |= memcmp(&counts[isa], &counts[0], sizeof counts[0]) != 0;
            if (is_wrong && failures++ == 0) report(c, isa, n, x, y, wanted);
        }
    return failures;
}

/* wanted[low..high] = results of first + low..high, given those of both ends. */
static void fill_monotone(const check *c, uint32_t first, uint32_t low, uint32_t high,
                          uint32_t *wanted) {
    if (high - low < 2) return;
    if (wanted[low] == wanted[high]) {
        for (uint32_t i = low + 1; i < high; i++) wanted[i] = wanted[low];
        return;
    }
    uint32_t middle = low + (high - low) / 2;
    wanted[middle] = reference(c, first + middle, 0);
    fill_monotone(c, first, low, middle, wanted);
    fill_monotone(c, first, middle, high, wanted);
}

static void fill_wanted(const check *c, uint32_t first, uint32_t *wanted) {
    int is_random = hu_rounding_draws(c->variant->rounding);
    int is_special = (first & HU_F32_INFINITY) == HU_F32_INFINITY;
    if (is_random || is_special) {
        uint32_t words[BLOCK] = {0};
        if (is_random) hu_random_words(&key, first, BLOCK, words);
        for (uint32_t i = 0; i < BLOCK; i++) wanted[i] = reference(c, first + i, words[i]);
        return;
    }
    wanted[0] = reference(c, first, 0);
    wanted[BLOCK - 1] = reference(c, first + BLOCK - 1, 0);
    fill_monotone(c, first, 0, BLOCK - 1, wanted);
}

/* One block of every `step`. */
static uint64_t check_all_inputs(const check *c, uint32_t step) {
    uint64_t failures = 0;
#pragma omp parallel for reduction(+ : failures) schedule(dynamic, 1024)
    for (uint32_t block = 0; block < (uint32_t)(((uint64_t)1 << 32) / BLOCK); block += step) {
        float x[BLOCK];
        uint32_t wanted[BLOCK], first = block * BLOCK;
        if (failures) continue;
        for (uint32_t i = 0; i < BLOCK; i++) x[i] = hu_f32_of_bits(first + i);
        fill_wanted(c, first, wanted);
        failures += compare(c, BLOCK, x, first, wanted);
    }
    return failures;
}

/* Inputs gathered to blocks. */
typedef struct gathered {
    const check *check;
    float x[BLOCK];
    uint32_t wanted[BLOCK];
    size_t count;
    uint64_t first, failures;
} gathered;

static void compare_gathered(void *context) {
    gathered *g = context;
    const check *c = g->check;
    int is_random = hu_rounding_draws(c->variant->rounding);
    for (size_t i = 0; i < g->count; i++) {
        uint32_t word = is_random ? hu_random_word(&key, g->first + i) : 0;
        g->wanted[i] = reference(c, hu_f32_bits(g->x[i]), word);
    }
    g->failures += compare(c, g->count, g->x, g->first, g->wanted);
    g->first += g->count;
}

static uint64_t check_boundary(const check *c, uint32_t most_codes) {
    gathered g = {.check = c};
    boundary_inputs_in_blocks(&c->format, most_codes, most_codes,
                              (boundary_blocks){g.x, &g.count, BLOCK, compare_gathered, &g});
    return g.failures;
}

/* most_codes 0: all inputs. */
static void run(request *r, const hu_format *format, const hu_round_variant *variant,
                uint32_t most_codes) {
    static check c;
    c = (check){.variant = variant, .format = *format};
    hu_format_print(format, c.format_name, sizeof c.format_name);
    if (*r->format && strcmp(r->format, c.format_name) != 0) return;
    if (r->variant && strcmp(r->variant, variant->name) != 0) return;
    for (c.isas = 0; c.isas <= (int)hu_cpu_isa_native(); c.isas++)
        if (hu_rounder_init_variant(&c.rounders[c.isas], format, variant, (hu_isa)c.isas) !=
            HU_OK) {
            printf("%s\n", hu_last_error());
            r->failed++;
            return;
        }
    uint64_t failures =
        most_codes ? check_boundary(&c, most_codes) : check_all_inputs(&c, r->is_short ? SHARE : 1);
    *(failures ? &r->failed : &r->passed) += 1;
    if (failures || !most_codes) {
        printf("%-4s %s %s, %s on %d instruction sets\n", failures ? "FAIL" : "ok", c.format_name,
               variant->name,
               most_codes    ? "boundary"
               : r->is_short ? "a block in 17"
                             : "all inputs",
               c.isas);
        fflush(stdout);
    }
}

/* The variants of a mode that serve the format: all, or the one that rounding takes. */
static void run_mode(request *r, const hu_format *format, hu_rounding mode, int all_routes,
                     uint32_t most_codes) {
    for (size_t v = 0; v < hu_round_variant_count(); v++) {
        const hu_round_variant *variant = hu_round_variant_at(v);
        if (hu_rounding_mode(variant->rounding) != mode) continue;
        if (!hu_round_route_serves(variant->route, mode, format)) continue;
        run(r, format, variant, most_codes);
        if (!all_routes) return;
    }
}

/* Nearest-even for the whole space; other modes at the boundaries. */
static void prove_space(request *r) {
    for (uint8_t e = 2; e <= 8; e++)
        for (uint8_t m = 0; m <= 23; m++) {
            hu_format format = {.exp_bits = e, .man_bits = m, .subnormals = 1};
            format.bias = (1 << (e - 1)) - 1;
            if (!r->is_short) run_mode(r, &format, HU_ROUND_NEAREST_EVEN, 0, 0);
            for (int mode = 0; r->is_short && mode < HU_ROUND_COUNT; mode++)
                run_mode(r, &format, (hu_rounding)mode, 1, mode ? 4096 : 65536);
        }
}

/* Formats by table are kernel_table's. */
static void prove_named(request *r) {
    hu_format format;
    for (uint32_t f = 0; hu_format_named(f, &format, NULL) && !format.table; f++)
        for (int mode = 0; mode < HU_ROUND_COUNT; mode++)
            run_mode(r, &format, (hu_rounding)mode, 1, r->is_short ? 4096 : 0);
}

/* Every combination of specials, overflow, subnormals and NaN that the format's fields allow. */
static void prove_options(request *r, const char *name) {
    hu_format base;
    if (hu_format_parse(name, &base) != HU_OK) r->failed++;
    for (int choice = 0; choice < 4 * 4 * 3 * 2; choice++) {
        hu_format format = base;
        format.specials = (uint8_t)(choice / 24);
        format.overflow = (uint8_t)(choice / 6 % 4);
        format.subnormals = choice / 2 % 3 == 1;
        format.underflow = choice / 2 % 3 == 2 ? HU_UNDERFLOW_NEAREST : HU_UNDERFLOW_FLUSH;
        format.nan = (uint8_t)(choice % 2);
        if (hu_format_check(&format) != HU_OK) continue;
        for (int mode = 0; r->is_short && mode < HU_ROUND_COUNT; mode++)
            run_mode(r, &format, (hu_rounding)mode, 1, 256);
        if (!r->is_short) run_mode(r, &format, HU_ROUND_NEAREST_EVEN, 0, 0);
    }
}

static double seconds_of_cpu(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

int main(int argc, char **argv) {
    static const char *const optional[] = {"e5m2", "e4m3", "fp16", "1/6/9/d"};
    request r = {.is_short = argc > 1 && strcmp(argv[1], "--short") == 0};
    hu_format format;
    const char *name;
    if (argc > 1 + r.is_short) {
        if (hu_format_parse(argv[1 + r.is_short], &format) != HU_OK) {
            fprintf(stderr, "%s\n", hu_last_error());
            return 2;
        }
        hu_format_print(&format, r.format, sizeof r.format);
    }
    if (argc > 2 + r.is_short) r.variant = argv[2 + r.is_short];
    prove_space(&r);
    printf("whole space: %.1f s of CPU\n", seconds_of_cpu());
    prove_named(&r);
    printf("named formats: %.1f s of CPU\n", seconds_of_cpu());
    for (size_t i = 0; !r.is_short && i < sizeof optional / sizeof optional[0]; i++)
        prove_options(&r, optional[i]);
    for (uint32_t f = 0; r.is_short && (name = hu_format_named(f, &format, NULL)) && !format.table;
         f++)
        prove_options(&r, name);
    printf("options: %.1f s of CPU\n", seconds_of_cpu());
    if (r.is_short && !r.variant && hu_format_parse("fp16", &format) == HU_OK)
        run_mode(&r, &format, HU_ROUND_NEAREST_EVEN, 0, 0);
    printf("%d passed, %d failed, %.1f s of CPU\n", r.passed, r.failed, seconds_of_cpu());
    return r.failed > 0 || r.passed == 0;
}
