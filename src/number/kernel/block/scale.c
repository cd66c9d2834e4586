/* kernel/block/scale.c - scales of whole tensors, powers of two; stored scales of tiles. */
#include "format/value.h"
#include "kernel/block/internal.h"

/* ---- scale of a tensor ---- */

/* power-of-two scales of whole tensors: x is rounded to the numbers 2^k f of
 * a format's numbers f, which are those of the same format with the bias lowered by k. So scaled
 * rounding and packing are the plain kernels with another bias, exact wherever binary32 is.
 */

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
    uint32_t max = hu_f32_bits((float)hu_format_limits_of(format).max_finite), top, most;
    int32_t top_exponent = split(bits, &top), most_exponent = split(max, &most);
    return top_exponent - most_exponent + (top > most);
}

int32_t hu_scale_clamp(const hu_format *format, int32_t k) {
    int32_t least, most;
    hu_format_scales(format, &least, &most);
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

/* ---- scales of tiles ---- */

/* Codes of two bytes hold those of formats whose sign bit is left out, too. */
void hu_block_write_scales(const hu_blocker *b, size_t tiles, const float *c, uint8_t *scales) {
    uint16_t codes[HU_BLOCK_SLAB_TILES];
    if (b->scale_bytes == sizeof(float)) {
        memcpy(scales, c, tiles * sizeof *c);
        return;
    }
    if (b->scale_packer.code_bits == 8) {
        hu_packer_pack(&b->scale_packer, tiles, c, scales, NULL);
        return;
    }
    hu_packer_pack(&b->scale_packer, tiles, c, codes, NULL);
    if (b->scale_bytes == 2) memcpy(scales, codes, tiles * sizeof *codes);
    if (b->scale_bytes == 1)
        for (size_t i = 0; i < tiles; i++) scales[i] = (uint8_t)codes[i];
}

void hu_block_read_scales(const hu_blocker *b, size_t tiles, const uint8_t *scales, float *c) {
    uint16_t codes[HU_BLOCK_SLAB_TILES];
    if (b->scale_bytes == sizeof(float)) memcpy(c, scales, tiles * sizeof *c);
    if (b->scale_bytes == 1)
        for (size_t i = 0; i < tiles; i++) c[i] = b->scale_value[scales[i]];
    if (b->scale_bytes != 2) return;
    memcpy(codes, scales, tiles * sizeof *codes);
    hu_packer_unpack(&b->scale_packer, tiles, codes, c);
}
