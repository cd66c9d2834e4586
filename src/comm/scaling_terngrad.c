/* Ternary gradients: every number becomes -s, 0 or s, of which it is the expectation. s is the
 * largest magnitude of a layer at all workers (the paper's shared scaler), so that sums are whole
 * multiples of it and travel in as few bits as workers can add up to. Before that numbers beyond C
 * standard deviations of their layer are cut there (the paper's C: 2.5), which is no longer
 * unbiased. Source: Wen et al., "TernGrad: ternary gradients to reduce communication in distributed
 * deep learning", NeurIPS 2017, Algorithm 1, sections 3.2 and 4. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/rng.h"
#include "comm/code.h"
#include "comm/plan.h"

enum { HUNDRED = 100, MOST = 100 * HUNDRED, USUAL = 250 };

static uint32_t bits(const hu_comm_options *options, bool is_sum) {
    uint32_t workers = is_sum ? (uint32_t)options->workers : 1, b = 2;
    while ((1u << (b - 1)) - 1u < workers) b++;
    return b;
}

/* A mean and a mean of squares in double precision, one after the other. */
static double deviation_of(int64_t n, const float *x) {
    double sum = 0.0, squares = 0.0;
    for (int64_t i = 0; i < n; i++) {
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
    }
    double mean = sum / (double)n, variance = squares / (double)n - mean * mean;
    return variance > 0.0 ? sqrt(variance) : 0.0;
}

/* NaNs and infinities stay: the layer must not lose them. */
static void prepare(const hu_comm_options *options, int64_t n, float *x) {
    if (options->constant == 0 || n == 0) return;
    float most = (float)(deviation_of(n, x) * ((double)options->constant / HUNDRED));
    if (!(most > 0.0f) || isinf(most)) return;
    for (int64_t i = 0; i < n; i++)
        if (fabsf(x[i]) > most && !isinf(x[i])) x[i] = copysignf(most, x[i]);
}

static float unit(int32_t exponent, uint32_t top_bits) {
    (void)exponent;
    return hu_f32_of_bits(top_bits >= HU_F32_INFINITY ? HU_F32_NAN : top_bits);
}

static void encode(const hu_comm_options *options, float s, int64_t n, const float *x, float *code,
                   const hu_random_key *key, uint64_t first) {
    (void)options;
    for (int64_t i = 0; i < n; i++) {
        uint32_t word = hu_random_word(key, first + (uint64_t)i);
        float drawn = hu_comm_draw_whole(fabs((double)x[i]) / (double)s, word);
        code[i] = x[i] < 0.0f ? 0.0f - drawn : drawn;
    }
}

static bool read(const char *text, int32_t *constant) {
    char *end;
    double value = strtod(text, &end) * HUNDRED;
    if (end == text || *end || !(value >= 0.0 && value <= MOST) || value != rint(value))
        return false;
    *constant = (int32_t)value;
    return true;
}

static void print(int32_t constant, char *text, size_t capacity) {
    snprintf(text, capacity, ":%g", (double)constant / HUNDRED);
}

static const hu_comm_code code = {
    .agreed_bytes = 4, .bits = bits, .prepare = prepare, .unit = unit, .encode = encode};

const hu_comm_scaling hu_comm_scaling_terngrad = {
    .name = "terngrad",
    .help = "-s, 0 or s in 2 bits, drawn; s: the largest of all, after cuts at C standard "
            "deviations (2.5; 0: none; two decimals at most)",
    .wide = true,
    .code = &code,
    .form = "[:C]",
    .usual = USUAL,
    .read = read,
    .print = print};
