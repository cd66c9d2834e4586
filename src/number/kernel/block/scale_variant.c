/* kernel/block/scale_variant.c - scales of tiles from their maxima, and units from scales, compiled
 * once per instruction set. */
#include "kernel/block/internal.h"

hu_block_scales_fn HU_VARIANT(hu_block_set_scales);
hu_block_units_fn HU_VARIANT(hu_block_set_units);

/* ---- scales ---- */

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
void HU_VARIANT(hu_block_set_scales)(const hu_blocker *b, float tensor_scale, float more,
                                     size_t tiles, const uint32_t *tops, uint8_t *scales) {
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

/* ---- units ---- */

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

void HU_VARIANT(hu_block_set_units)(const hu_blocker *b, float tensor_scale, size_t tiles,
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
