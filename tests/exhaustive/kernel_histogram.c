/* Proof that exponent histograms are what ilogb says of every float32.
 *   kernel_histogram [--short]
 * Long: all 2^32 inputs on every instruction set of this machine, in blocks, twice: in ascending
 * order, where neighbours have one exponent, and mixed; each block counted by one thread and the
 * definition, and all of them together beside the number of float32 that each exponent has. Short:
 * a share of the blocks. Prints "N blocks passed, M failed"; exit code 1 if M > 0. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <halfulp/histogram.h>

#include "base/bits.h"
#include "base/cpu.h"

enum { BLOCK = 1 << 16, BLOCKS = 1 << 16, STEP = 613, THREADS = 3 };
static const uint32_t mixer = 2654435761u; /* odd: a permutation of all inputs */

/* The definition. */
static void count_plainly(size_t n, const float *x, hu_histogram *h) {
    h->elements += n;
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i]))
            h->nan++;
        else if (isinf(x[i]))
            h->infinite++;
        else if (x[i] == 0.0f)
            h->zero++;
        else
            h->bin[ilogbf(x[i]) - HU_HISTOGRAM_LEAST]++;
        if (isfinite(x[i])) h->largest = fmaxf(h->largest, fabsf(x[i]));
    }
}

static int is_block_right(int is_mixed, uint32_t block, hu_histogram *total) {
    static _Thread_local float x[BLOCK];
    hu_histogram found = {0}, wanted = {0};
    for (uint32_t i = 0; i < BLOCK; i++) {
        uint32_t bits = block << 16 | i;
        x[i] = hu_f32_of_bits(is_mixed ? bits * mixer : bits);
    }
    count_plainly(BLOCK, x, &wanted);
    hu_status st = hu_histogram_add(BLOCK, x, 1, &found);
    hu_histogram_merge(total, &found);
    return st == HU_OK && memcmp(&found, &wanted, sizeof found) == 0;
}

/* Of both signs; below -126 an exponent has as many as the bits right of its first. */
static uint64_t numbers_of(int exponent) {
    return 2 * (UINT64_C(1) << (exponent < -126 ? exponent - HU_HISTOGRAM_LEAST : 23));
}

static int is_total_right(const hu_histogram *total) {
    int is_right = total->elements == UINT64_C(1) << 32 && total->zero == 2 &&
                   total->infinite == 2 && total->nan == 2 * ((1 << 23) - 1) &&
                   total->largest == 0x1.fffffep127f;
    for (int i = 0; i < HU_HISTOGRAM_BINS; i++)
        is_right &= total->bin[i] == numbers_of(HU_HISTOGRAM_LEAST + i);
    return is_right;
}

/* What three threads make of an array whose end is none of a vector. */
static int are_threads_right(void) {
    enum { MOST = 1 << 20 };
    static float x[MOST];
    hu_histogram found = {0}, wanted = {0};
    for (uint32_t i = 0; i < MOST; i++) x[i] = hu_f32_of_bits(i * mixer);
    count_plainly(MOST - 3, x, &wanted);
    hu_status st = hu_histogram_add(MOST - 3, x, THREADS, &found);
    return st == HU_OK && memcmp(&found, &wanted, sizeof found) == 0;
}

int main(int argc, char **argv) {
    int is_short = argc > 1 && strcmp(argv[1], "--short") == 0, step = is_short ? STEP : 1;
    int passed = 0, failed = 0;
    for (int isa = 0; isa <= (int)hu_cpu_isa_native(); isa++) {
        hu_cpu_set_isa((hu_isa)isa);
        for (int is_mixed = 0; is_mixed < 2; is_mixed++) {
            hu_histogram total = {0};
            int wrong = 0, right = 0;
#pragma omp parallel for reduction(+ : wrong, right)
            for (int b = is_short ? isa : 0; b < BLOCKS; b += step) {
                int is_right = is_block_right(is_mixed, (uint32_t)b, &total);
                right += is_right;
                wrong += !is_right;
            }
            if (!is_short) wrong += !is_total_right(&total);
            passed += right;
            failed += wrong;
        }
        failed += !are_threads_right();
    }
    printf("%d blocks passed, %d failed\n", passed, failed);
    return failed > 0 || passed == 0;
}
