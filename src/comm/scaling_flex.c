/* Flexpoint: whole numbers of 16 bits, to the nearest, whose exponent of 5 bits a whole layer
 * shares. The paper has it on one machine and foretells the exponent from earlier steps; here
 * workers agree upon it as those of APS do, from the largest magnitude of all with room for the sum
 * of all, so that sums of codes are codes and may travel. A unit is 2^-e, e = 0 .. 31, which the
 * byte of an agreement carries. Source: Koester et al., "Flexpoint: an adaptive numerical format
 * for efficient training of deep neural networks", NeurIPS 2017, section 3.1; APS paper, Table 2.
 */
#include <math.h>

#include "base/bits.h"
#include "comm/code.h"
#include "comm/plan.h"

enum { MANTISSA_BITS = 16, MOST_EXPONENT = 31 };

static uint32_t bits(const hu_comm_options *options, bool is_sum) {
    (void)options, (void)is_sum;
    return MANTISSA_BITS;
}

static float unit(int32_t exponent, uint32_t top_bits) {
    (void)top_bits;
    if (exponent == HU_COMM_NOTHING) return 1.0f;
    if (exponent == HU_COMM_NONFINITE) return hu_f32_of_bits(HU_F32_NAN);
    int32_t e = MANTISSA_BITS - 1 - exponent;
    return ldexpf(1.0f, -(e < 0 ? 0 : e > MOST_EXPONENT ? MOST_EXPONENT : e));
}

/* A unit is a power of two: quotients are exact, but for those beyond all codes. */
static void encode(const hu_comm_options *options, float unit, int64_t n, const float *x,
                   float *code, const hu_random_key *key, uint64_t first) {
    (void)options, (void)key, (void)first;
    for (int64_t i = 0; i < n; i++) {
        double whole = rint((double)x[i] / (double)unit);
        code[i] = (float)fmin(fmax(whole, HU_COMM_WHOLE_LEAST), HU_COMM_WHOLE_MOST);
    }
}

static const hu_comm_code code = {
    .agreed_bytes = 1, .adds_on_way = true, .bits = bits, .unit = unit, .encode = encode};

const hu_comm_scaling hu_comm_scaling_flex = {
    .name = "flex16+5",
    .help = "whole numbers of 16 bits and an exponent of 5 bits for a layer, with room for the sum",
    .exponent = hu_comm_paper_exponent,
    .code = &code};
