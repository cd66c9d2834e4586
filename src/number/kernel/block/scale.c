/* kernel/block/scale.c - scales: of whole tensors, powers of two; of tiles, from their maxima. */
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

/* ---- scales of tiles ---- */

/* MX: the code of 2^k is k + 127 = (floor(log2 a) + 127) - emax, and the sum is the exponent field
 * of a, raised by 1 where its significand is above the limit. A subnormal a has the field 0 and its
 * significand at twice its fraction: below 2^-127 it is above no limit. */
static void set_powers(const hu_blocker *b, size_t tiles, const uint32_t *tops, uint8_t *codes) {
    const int32_t most = b->emax > 0 ? 254 - b->emax : 254;
    for (size_t i = 0; i < tiles; i++) {
        uint32_t field = tops[i] >> 23, fraction = tops[i] & 0x7FFFFFu;
        uint32_t significand = field ? fraction | 1u << 23 : 2 * fraction;
        int32_t code = (int32_t)(field + (significand > b->top_limit)) - b->emax;
        code = code < 0 ? 0 : code > most ? most : code;
        codes[i] = tops[i] >= HU_F32_INFINITY ? 255 : (uint8_t)code;
    }
}

static float lesser(float a, float b) {
    return a < b ? a : b;
}

static float greater(float a, float b) {
    return a > b ? a : b;
}

/* The largest float32. */
static float largest(void) {
    return hu_f32_of_bits(HU_F32_INFINITY - 1);
}

static float single_scale(const hu_blocker *b, float top) {
    top = greater(top, b->format.least);
    if (top == 0.0f) return 1.0f;
    if (b->format.way == HU_BLOCK_WAY_TE) return lesser(b->most / top, largest());
    return lesser(greater(top / b->most, 0x1p-126f), largest());
}

/* The number that is rounded to the scale's format. */
static float quotient_of(const hu_blocker *b, float tensor_scale, float top) {
    switch (b->format.way) {
    case HU_BLOCK_WAY_TE:
        return top * (tensor_scale * (1.0f / b->most));
    case HU_BLOCK_WAY_AO:
        return top / b->most / tensor_scale;
    case HU_BLOCK_WAY_EDEN:
        return top / HU_BLOCK_EDEN / tensor_scale;
    default:
        return top / (b->most * tensor_scale);
    }
}

/* A scale as it is taken: none of AO's is below the smallest normal number, none of EDEN's is 0. */
static float taken(const hu_blocker *b, float c) {
    if (b->format.way == HU_BLOCK_WAY_AO && c < b->scale_least) return b->scale_least;
    return b->format.way == HU_BLOCK_WAY_EDEN && c == 0.0f ? 1.0f : c;
}

/* A tile with a NaN or an infinity gets the scale NaN. */
void hu_block_set_scales(const hu_blocker *b, float tensor_scale, float more, size_t tiles,
                         const uint32_t *tops, uint8_t *scales) {
    float c[HU_BLOCK_SLAB_TILES];
    if (b->format.scale == HU_BLOCK_SCALE_E8M0) set_powers(b, tiles, tops, scales);
    if (b->format.scale == HU_BLOCK_SCALE_E8M0 || tiles == 0) return;
    bool is_single = b->format.scale == HU_BLOCK_SCALE_F32;
    for (size_t i = 0; i < tiles; i++) {
        float top = hu_f32_of_bits(tops[i]);
        float scale = is_single ? single_scale(b, top) : more * quotient_of(b, tensor_scale, top);
        c[i] = hu_f32_of_bits(tops[i] < HU_F32_INFINITY ? hu_f32_bits(scale) : HU_F32_NAN);
    }
    if (!is_single) {
        hu_rounder_run(&b->scale_rounder, tiles, c, c, NULL, 0, NULL);
        for (size_t i = 0; i < tiles; i++) c[i] = taken(b, c[i]);
    }
    hu_block_write_scales(b, tiles, c, scales);
}

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

/* 2^(code - 127); code 0 is a binary32 subnormal, 255 is NaN. */
static float power(uint32_t code) {
    uint32_t bits = code ? code << 23 : 1u << 22;
    return hu_f32_of_bits(code == 255 ? HU_F32_NAN : bits);
}

/* The inverse of 2^(code - 127) is 2^(127 - code): a product instead of a quotient, with the same
 * result. */
static void power_units(size_t tiles, const uint8_t *restrict codes, float *restrict unit,
                        float *restrict inverse) {
    for (size_t i = 0; i < tiles; i++) unit[i] = power(codes[i]);
    for (size_t i = 0; inverse && i < tiles; i++)
        inverse[i] = power(codes[i] == 255 ? 255 : 254u - codes[i]);
}

/* What is stored of TransformerEngine's is what numbers are multiplied by. */
static void single_units(const hu_blocker *b, size_t tiles, float *restrict unit,
                         float *restrict inverse) {
    bool is_turned = b->format.way == HU_BLOCK_WAY_TE;
    if (!inverse && !is_turned) return;
    for (size_t i = 0; i < tiles; i++) {
        float s = unit[i], other = 1.0f / s;
        if (inverse) inverse[i] = is_turned ? s : other;
        if (is_turned) unit[i] = other;
    }
}

/* Inverses are of those who multiply by them. */
static void factored_units(const hu_blocker *b, float tensor_scale, size_t tiles, float *unit,
                           float *inverse) {
    float back = 1.0f / tensor_scale;
    bool is_te = b->format.way == HU_BLOCK_WAY_TE;
    for (size_t i = 0; i < tiles; i++) {
        float c = unit[i];
        unit[i] = c * (is_te ? back : tensor_scale);
        if (inverse && !b->divides)
            inverse[i] = lesser(is_te ? 1.0f / unit[i] : back / c, largest());
    }
}

void hu_block_set_units(const hu_blocker *b, float tensor_scale, size_t tiles,
                        const uint8_t *scales, float *unit, float *inverse) {
    if (b->format.scale == HU_BLOCK_SCALE_E8M0) {
        power_units(tiles, scales, unit, inverse);
        return;
    }
    hu_block_read_scales(b, tiles, scales, unit);
    if (b->format.scale == HU_BLOCK_SCALE_F32)
        single_units(b, tiles, unit, inverse);
    else
        factored_units(b, tensor_scale, tiles, unit, inverse);
}
