/* Proof that R as the micro-kernels compute it equals the rounder's nearest even for every float32
 * number that reaches it.
 *   kernel_gemm_round [--short] [FORMAT]                 FORMAT in any spelling
 * Every accumulator of a tile gets one product x 1, so that R's argument is x: MACS, MAC and
 * FMAC-K, float32 and float64 kernels with and without rounding to odd, lean and fast classes,
 * every instruction set of this machine, both places of a pair. Lean kernels get the numbers from
 * the smallest normal one on, and the members below it. Long: all 2^32 patterns; short: a share of
 * them, and the boundary inputs (boundary.h). Prints one line per format and "N passed, M failed";
 * exit code 1 if M > 0. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "boundary.h"
#include "kernel/gemm/kernel.h"
#include "kernel/round/round.h"

enum { BLOCK = 1 << 16, BLOCKS = 1 << 16, SHARE = 36007, ROWS = 16, COLUMNS = 16 };

static const char *const formats[] = {"1/6/9/d",       "fp16",      "bf16",  "e5m2",
                                      "e4m3fn",        "fp(4,3,4)", "e3m0",  "e6m1",
                                      "e5m10:ovf=sat", "e8m10",     "e7m12", "e8m21"};

typedef struct task {
    hu_accumulator accumulator;
    hu_gemm_constants constants;
    hu_format_limits limits;
    hu_rounder rounder;
    bool is_f32, is_lean;
    hu_gemm_kernel kernel;
} task;

/* The numbers of a block that a kernel may get, and what becomes of them. */
typedef struct room {
    size_t n;
    float x[BLOCK], y[BLOCK], numbers[BLOCK], wanted[BLOCK];
} room;

/* float32 kernels have no C for larger ones (prove.c, point 5); the rest is overflow's. */
static double limit_of(const task *t) {
    double magic = ldexp(1.0, 104 + t->accumulator.format.man_bits);
    return t->is_f32 && magic < t->limits.max_finite ? magic : t->limits.max_finite;
}

static bool is_served(const task *t, float x, float y) {
    double magnitude = fabs((double)x);
    if (!(magnitude <= limit_of(t))) return false;
    return !t->is_lean || magnitude >= t->limits.min_normal || x == y;
}

/* Rounds, and keeps what the kernel may get; zeros of R are +0. */
static size_t select_numbers(const task *t, room *r) {
    size_t count = 0;
    hu_rounder_run(&t->rounder, r->n, r->x, r->y, NULL, 0, NULL);
    for (size_t i = 0; i < r->n; i++) {
        if (!is_served(t, r->x[i], r->y[i])) continue;
        r->numbers[count] = r->x[i];
        r->wanted[count++] = r->y[i] + 0.0f;
    }
    return count;
}

/* x[columns] in every row of a tile, by one term. */
static void run_tile(const task *t, const float *x, float *out) {
    static const float a[ROWS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const double wide_a[ROWS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    _Alignas(64) float other[ROWS * COLUMNS];
    _Alignas(64) double wide_x[COLUMNS];
    const int rows = t->kernel.rows, columns = t->kernel.columns;
    const size_t bytes = (size_t)(rows * columns) * sizeof *out;
    const bool is_block = t->accumulator.mac == HU_MAC_FMAC_K;
    for (int j = 0; j < columns && !t->is_f32; j++) wide_x[j] = (double)x[j];
    memset(other, 0, bytes);
    memset(out, 0, bytes);
    const hu_gemm_tile tile = {.k = 1,
                               .phase = 0,
                               .a = t->is_f32 ? (const void *)a : (const void *)wide_a,
                               .b = t->is_f32 ? (const void *)x : (const void *)wide_x,
                               .sum = is_block ? other : out,
                               .extra = is_block ? out : other,
                               .ld = columns,
                               .constants = &t->constants};
    t->kernel.run(&tile);
}

/* 0: all rows are as wanted. */
static int check_numbers(const task *t, room *r) {
    const size_t columns = (size_t)t->kernel.columns, count = select_numbers(t, r);
    _Alignas(64) float x[COLUMNS], out[ROWS * COLUMNS];
    for (size_t at = 0; at < count; at += columns) {
        size_t valid = count - at < columns ? count - at : columns;
        memset(x, 0, sizeof x);
        memcpy(x, r->numbers + at, valid * sizeof *x);
        run_tile(t, x, out);
        for (int row = 0; row < t->kernel.rows; row++) {
            const float *got = out + (size_t)row * columns;
            if (memcmp(got, r->wanted + at, valid * sizeof *got) == 0) continue;
            for (size_t j = 0; j < valid; j++)
                if (memcmp(got + j, r->wanted + at + j, sizeof *got) != 0)
                    printf("row %d: %a becomes %a, expected %a\n", row, (double)x[j],
                           (double)got[j], (double)r->wanted[at + j]);
            return 1;
        }
    }
    return 0;
}

static int check_block(const task *t, room *r, uint32_t block) {
    r->n = BLOCK;
    for (uint32_t i = 0; i < BLOCK; i++) r->x[i] = hu_f32_of_bits(block << 16 | i);
    return check_numbers(t, r);
}

/* Inputs gathered to blocks. */
typedef struct gathered {
    const task *task;
    room room;
    int failures;
} gathered;

static void check_gathered(void *context) {
    gathered *g = context;
    g->failures += check_numbers(g->task, &g->room);
}

static int check_boundary(const task *t) {
    enum { CODES = 64, RANDOM = 4096 };
    static gathered g;
    g.task = t;
    g.failures = 0;
    boundary_inputs_in_blocks(&t->accumulator.format, CODES, RANDOM,
                              (boundary_blocks){g.room.x, &g.room.n, BLOCK, check_gathered, &g});
    return g.failures;
}

static int check_kernel(const task *t, uint32_t step, uint32_t start) {
    int failures = check_boundary(t);
#pragma omp parallel reduction(+ : failures)
    {
        static _Thread_local room r;
#pragma omp for schedule(dynamic, 64)
        for (uint32_t b = start; b < BLOCKS; b += step) failures += check_block(t, &r, b);
    }
    return failures;
}

/* Whether prove.c would ever choose the kernel for this format. */
static bool is_chosen(const task *t, hu_gemm_class class) {
    int m = t->accumulator.format.man_bits;
    bool is_short = class == HU_GEMM_SHORT_LEAN || class == HU_GEMM_SHORT_FAST;
    return !t->is_f32 || (m <= (is_short ? HU_GEMM_SHORT_BITS : 21) && t->limits.emin >= -126 &&
                          t->limits.emin <= 104 + m);
}

/* Failures of every kernel of one instruction set and mode; *kernels: how many there were. */
static int check_mode(task *t, hu_isa isa, uint32_t step, uint32_t start, int *kernels) {
    int failures = 0;
    for (int a = 0; a < HU_GEMM_ARITHMETIC_COUNT; a++)
        for (int class = HU_GEMM_SHORT_LEAN; class <= HU_GEMM_FAST; class ++) {
            t->is_f32 = a == HU_GEMM_F32 || a == HU_GEMM_F32_ODD;
            t->is_lean = class == HU_GEMM_LEAN || class == HU_GEMM_SHORT_LEAN;
            bool is_alias = !t->is_f32 && class <= HU_GEMM_SHORT_FAST;
            t->kernel = hu_gemm_kernel_of(isa, t->accumulator.mac, (hu_gemm_arithmetic)a,
                                          (hu_gemm_class) class, HU_GEMM_NARROW);
            if (!t->kernel.run || is_alias || !is_chosen(t, (hu_gemm_class) class)) continue;
            int bad = check_kernel(t, step, start);
            if (bad)
                printf("%s, mode %d, arithmetic %d, class %d: %d blocks differ\n", hu_isa_name(isa),
                       (int)t->accumulator.mac, a, class, bad);
            failures += bad;
            (*kernels)++;
        }
    return failures;
}

static int check_format(const hu_format *format, bool is_short, uint32_t start, int *kernels) {
    static const hu_mac macs[] = {HU_MAC_MACS, HU_MAC_MAC, HU_MAC_FMAC_K};
    int failures = 0;
    static task t;
    if (hu_rounder_init(&t.rounder, format, HU_ROUND_NEAREST_EVEN) != HU_OK) return 1;
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++)
        for (size_t i = 0; i < sizeof macs / sizeof macs[0]; i++) {
            t.accumulator = (hu_accumulator){.mac = macs[i], .format = *format, .block = 8};
            t.limits = hu_format_limits_of(format);
            hu_gemm_constants_init(&t.accumulator, &t.constants);
            failures +=
                check_mode(&t, (hu_isa)isa, is_short ? SHARE : 1, is_short ? start : 0, kernels);
        }
    return failures;
}

int main(int argc, char **argv) {
    bool is_short = argc > 1 && strcmp(argv[1], "--short") == 0, has_only = argc > 1 + is_short;
    int passed = 0, failed = 0;
    for (uint32_t f = 0; f < (has_only ? 1 : sizeof formats / sizeof formats[0]); f++) {
        const char *name = has_only ? argv[1 + is_short] : formats[f];
        hu_format format;
        int kernels = 0;
        if (hu_format_parse(name, &format) != HU_OK) {
            fprintf(stderr, "%s\n", hu_last_error());
            return 2;
        }
        bool is_bad = check_format(&format, is_short, 131 * f, &kernels) != 0 || kernels == 0;
        printf("%s, %d kernels: %s\n", name, kernels, is_bad ? "FAILED" : "passed");
        fflush(stdout);
        failed += is_bad;
        passed += !is_bad;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0 || passed == 0;
}
