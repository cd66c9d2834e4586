/* Proof that loops whose doubles are approximated (kernel/elementary/certain.h) give the bits of
 * their definitions.
 *   kernel_elementary [--short]
 * GELU, SiLU, their gradients, the gradient of a softmax and e^x on every instruction set of this
 * machine, against the scalar loops, which approximate nothing; and log x and x^1.7, which nothing
 * approximates at all. Long: all 2^32 inputs, twice: in ascending order, and mixed. Short: every
 * 1,501st block of 65,536 inputs. Prints one line per function and instruction set, then "N passed,
 * M failed"; exit code 1 if M > 0.
 */
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "kernel/elementary/elementary.h"

enum { BLOCK = 1 << 16, BLOCKS = 1 << 16, SHARE = 1501, FUNCTIONS = 8 };
static const uint32_t mixer = 2654435761u; /* odd: a permutation of all inputs */
static const char *const names[FUNCTIONS] = {"gelu",      "gelu_backward", "row_slopes",
                                             "silu",      "silu_backward", "exponential",
                                             "logarithm", "power"};

typedef struct arrays {
    float x[BLOCK], dy[BLOCK], found[BLOCK], expected[BLOCK];
} arrays;

/* Any number but a NaN, of which only that it is one is defined. */
static float number_of(uint32_t bits) {
    float x = hu_f32_of_bits(bits);
    return x != x ? 0.25f : x;
}

static void fill(uint32_t block, arrays *a) {
    for (uint32_t i = 0; i < BLOCK; i++) {
        uint32_t bits = (block << 16 | i) * mixer;
        a->x[i] = number_of(bits);
        /* Every second gradient is any number, the others are of the usual size. */
        a->dy[i] = i % 2 ? number_of(bits ^ 0x5bd1e995u) : (float)((int32_t)bits >> 8) * 0x1p-24f;
    }
}

static void run(const hu_elementary_kernels *k, int function, const arrays *a, float *y) {
    static const double most = 3.25, log_sum = 1.75, share = 1.0 / 3;
    static const int64_t class = 77;
    if (function == 0) k->gelu(BLOCK, a->x, y);
    if (function == 1) k->gelu_backward(BLOCK, a->x, a->dy, y);
    if (function == 3) k->silu(BLOCK, a->x, y);
    if (function == 4) k->silu_backward(BLOCK, a->x, a->dy, y);
    if (function == 5) k->exponential(BLOCK, a->x, y);
    if (function == 6) k->logarithm(BLOCK, a->x, y);
    if (function == 7) k->power(BLOCK, 1.7, a->x, y);
    if (function == 2) k->row_slopes(1, BLOCK, a->x, &most, &log_sum, &class, &share, y);
}

/* 1 if bits differ. NaN, of infinite inputs, is any NaN. */
static int differs(int function, const arrays *a, hu_isa isa) {
    for (int i = 0; i < BLOCK; i++) {
        int both_nan = a->found[i] != a->found[i] && a->expected[i] != a->expected[i];
        if (both_nan || hu_f32_bits(a->found[i]) == hu_f32_bits(a->expected[i])) continue;
        printf("%s of %a, gradient %a, on %s: found %a, expected %a\n", names[function],
               (double)a->x[i], (double)a->dy[i], hu_isa_name(isa), (double)a->found[i],
               (double)a->expected[i]);
        return 1;
    }
    return 0;
}

/* One block on all instruction sets; records: theirs. */
static int check(const hu_elementary_kernels *const *records, int function, uint32_t block) {
    static _Thread_local arrays a;
    int failures = 0;
    fill(block, &a);
    run(records[0], function, &a, a.expected);
    for (int isa = 1; isa <= (int)hu_cpu_isa_native(); isa++) {
        run(records[isa], function, &a, a.found);
        failures += differs(function, &a, (hu_isa)isa);
    }
    return failures;
}

int main(int argc, char **argv) {
    int is_short = argc > 1 && strcmp(argv[1], "--short") == 0, failed = 0;
    const hu_elementary_kernels *records[HU_ISA_COUNT] = {0};
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
        hu_cpu_set_isa((hu_isa)isa);
        records[isa] = hu_elementary();
    }
    for (int function = 0; function < FUNCTIONS; function++) {
        int failures = 0;
#pragma omp parallel for reduction(+ : failures) schedule(dynamic, 16)
        for (uint32_t block = 0; block < BLOCKS; block += is_short ? SHARE : 1)
            failures += check(records, function, block);
        printf("%s: %s\n", names[function], failures ? "FAILED" : "passed");
        fflush(stdout);
        failed += failures > 0;
    }
    printf("%d passed, %d failed\n", FUNCTIONS - failed, failed);
    return failed > 0;
}
