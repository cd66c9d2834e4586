/* kernel/block/scale.c - exponents of tensor scales by integer arithmetic on bits. */
#include "kernel/block/scale.h"

#include "format/value.h"

/* floor(log2) of a nonzero magnitude, and its significand with the leading one at bit 23. */
static int32_t split(uint32_t bits, uint32_t *significand) {
    if (bits >> 23) {
        *significand = (bits & 0x007FFFFFu) | 0x00800000u;
        return (int32_t)(bits >> 23) - 127;
    }
    int up = __builtin_clz(bits) - 8;
    *significand = bits << up;
    return -126 - up;
}

static int32_t ceil_log2(uint32_t bits) {
    uint32_t significand;
    int32_t floor = split(bits, &significand);
    return floor + (significand != 0x00800000u);
}

/* Least k with magnitude <= 2^k max. */
static int32_t fitting(const hu_format *format, uint32_t bits) {
    uint32_t max = hu_format_magnitude_bits(format, hu_format_code_max(format)), top, most;
    int32_t top_exponent = split(bits, &top), most_exponent = split(max, &most);
    return top_exponent - most_exponent + (top > most);
}

int32_t hu_scale_clamp(const hu_format *format, int32_t k) {
    int32_t emin = hu_format_emin(format);
    int32_t emax = (int32_t)(hu_format_code_max(format) >> format->man_bits) - 1 + emin;
    int32_t least = -149 - (emin - format->man_bits), most = 127 - emax;
    if (k > most) k = most;
    return k < least ? least : k;
}

int32_t hu_scale_exponent(const hu_format *format, hu_scale_rule rule, uint32_t top_bits) {
    enum { LEAST_BITS = (127 - 100) << 23 }; /* of 2^-100 */
    if (rule == HU_SCALE_NONE || (rule != HU_SCALE_BIAS && top_bits == 0)) return 0;
    if (rule != HU_SCALE_BIAS) return hu_scale_clamp(format, fitting(format, top_bits));
    uint32_t bits = top_bits < LEAST_BITS ? LEAST_BITS : top_bits;
    int32_t half = 1 << (format->exp_bits - 1);
    int32_t total_bias = half - 1 + half - ceil_log2(bits);
    return hu_scale_clamp(format, format->bias - total_bias);
}

hu_format hu_format_scaled(const hu_format *format, int32_t k) {
    hu_format scaled = *format;
    scaled.bias -= k;
    return scaled;
}
