/* Levels of a norm: of B bits one is the sign, and a number v of a block x becomes a whole multiple
 * of |x| / s, s = 2^(B-1) - 1, of which it is the expectation. Blocks of D numbers have the norm of
 * their own, |x| = sqrt(sum of squares). Codes of different norms have no sum: owners of pieces add
 * what they stand for in float32, and the sums travel in float32. That is what every worker gets
 * where, as in the paper, all send their codes to all and add them in the order of the workers; the
 * paper's Elias codes of varying length are left out.
 * Source: Alistarh et al., "QSGD: communication-efficient SGD via gradient quantization and
 * encoding", NeurIPS 2017, section 3.1, and 4 for blocks ("buckets"). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/rng.h"
#include "comm/code.h"
#include "comm/plan.h"

/* The constant holds both: bits in its lowest places, numbers of a block above them. */
enum { BITS_PLACES = 4, LEAST_BITS = 2, MOST_BITS = 8, MOST_BLOCK = 1 << 24 };
#define OF(bits, block) ((block) << BITS_PLACES | (bits))
enum { USUAL = OF(4, 512) };

static int32_t bits_of(int32_t constant) {
    return constant & ((1 << BITS_PLACES) - 1);
}

static uint32_t bits(const hu_comm_options *options, bool is_sum) {
    return is_sum ? 32 : (uint32_t)bits_of(options->constant);
}

static int64_t block(const hu_comm_options *options) {
    return options->constant >> BITS_PLACES;
}

static int32_t levels_of(const hu_comm_options *options) {
    return (1 << (bits_of(options->constant) - 1)) - 1;
}

/* Squares of float32 have room in double precision; a norm beyond float32 makes NaNs. */
static float unit_of(const hu_comm_options *options, int64_t n, const float *x) {
    double squares = 0.0;
    for (int64_t i = 0; i < n; i++) squares += (double)x[i] * (double)x[i];
    float unit = (float)(sqrt(squares) / (double)levels_of(options));
    return isfinite(unit) ? unit : hu_f32_of_bits(HU_F32_NAN);
}

/* The unit is rounded: what exceeds the norm by that has its level. */
static void encode(const hu_comm_options *options, float unit, int64_t n, const float *x,
                   float *code, const hu_random_key *key, uint64_t first) {
    double levels = (double)levels_of(options);
    for (int64_t i = 0; i < n; i++) {
        uint32_t word = hu_random_word(key, first + (uint64_t)i);
        double size = fmin(fabs((double)x[i]) / (double)unit, levels);
        float drawn = hu_comm_draw_whole(size, word);
        code[i] = x[i] < 0.0f ? 0.0f - drawn : drawn;
    }
}

/* "4", "4/512". */
static bool read(const char *text, int32_t *constant) {
    char *end;
    long b = strtol(text, &end, 10), d = USUAL >> BITS_PLACES;
    if (end == text || b < LEAST_BITS || b > MOST_BITS) return false;
    if (*end == '/') {
        text = end + 1;
        d = strtol(text, &end, 10);
        if (end == text || d < 1 || d > MOST_BLOCK) return false;
    }
    if (*end) return false;
    *constant = OF((int32_t)b, (int32_t)d);
    return true;
}

static void print(int32_t constant, char *text, size_t capacity) {
    snprintf(text, capacity, ":%d/%d", bits_of(constant), constant >> BITS_PLACES);
}

static const hu_comm_code code = {
    .bits = bits, .block = block, .unit_of = unit_of, .encode = encode};

const hu_comm_scaling hu_comm_scaling_qsgd = {
    .name = "qsgd",
    .help = "levels of the norm of D numbers in B bits, 2 to 8, drawn (4/512); sums in float32",
    .wide = true,
    .code = &code,
    .form = "[:B[/D]]",
    .usual = USUAL,
    .read = read,
    .print = print};
