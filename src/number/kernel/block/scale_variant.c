/* kernel/block/scale_variant.c - scales of tiles from their maxima, and units from scales, compiled
 * once per instruction set. */
#include "kernel/block/internal.h"
#include "kernel/lane.h"

hu_block_scales_fn HU_VARIANT(hu_block_set_scales);
hu_block_units_fn HU_VARIANT(hu_block_set_units);
hu_block_units_of_tops_fn HU_VARIANT(hu_block_set_both);

/* ---- scales ---- */

/* MX: the code of 2^k is k + 127 = (floor(log2 a) + 127) - emax, and the sum is the exponent field
 * of a, raised by 1 where its significand is above the limit. A subnormal a has the field 0 and its
 * significand at twice its fraction: below 2^-127 it is above no limit. */
HU_INLINE int32_t code_of_power(uint32_t top_bits, int32_t limit, int32_t emax) {
    const int32_t most = emax > 0 ? 254 - emax : 254;
    int32_t top = (int32_t)top_bits, field = top >> 23, fraction = top & 0x7FFFFF;
    int32_t significand = field ? fraction | 1 << 23 : 2 * fraction;
    int32_t code = field + (significand > limit) - emax;
    code = code < 0 ? 0 : code > most ? most : code;
    return top >= (int32_t)HU_F32_INFINITY ? 255 : code;
}

static void set_powers(const hu_blocker *b, size_t tiles, const uint32_t *restrict tops,
                       uint8_t *restrict codes) {
    const int32_t emax = b->emax, limit = (int32_t)b->top_limit;
#pragma omp simd
    for (size_t i = 0; i < tiles; i++) codes[i] = (uint8_t)code_of_power(tops[i], limit, emax);
}

HU_INLINE float lesser(float a, float b) {
    return a < b ? a : b;
}

HU_INLINE float greater(float a, float b) {
    return a > b ? a : b;
}

/* The largest float32. */
HU_INLINE float largest(void) {
    return hu_f32_of_bits(HU_F32_INFINITY - 1);
}

/* A tile with a NaN or an infinity gets the scale NaN. */
HU_INLINE float scale_or_nan(uint32_t top, float scale) {
    return hu_f32_of_bits((int32_t)top < (int32_t)HU_F32_INFINITY ? hu_f32_bits(scale)
                                                                  : HU_F32_NAN);
}

HU_INLINE void set_singles(const hu_blocker *b, bool is_te, size_t tiles,
                           const uint32_t *restrict tops, float *restrict c) {
    const float most = b->most, least = b->format.least;
#pragma omp simd
    for (size_t i = 0; i < tiles; i++) {
        float top = greater(hu_f32_of_bits(tops[i]), least);
        float s = is_te ? lesser(most / top, largest())
                        : lesser(greater(top / most, 0x1p-126f), largest());
        c[i] = scale_or_nan(tops[i], top == 0.0f ? 1.0f : s);
    }
}

/* The numbers that are rounded to the scale's format. */
HU_INLINE void set_quotients(const hu_blocker *b, hu_block_way way, float tensor_scale, float more,
                             size_t tiles, const uint32_t *restrict tops, float *restrict c) {
    const float most = b->most, whole = most * tensor_scale;
    const float factor = tensor_scale * (1.0f / most);
#pragma omp simd
    for (size_t i = 0; i < tiles; i++) {
        float top = hu_f32_of_bits(tops[i]), quotient = top / whole;
        if (way == HU_BLOCK_WAY_TE) quotient = top * factor;
        if (way == HU_BLOCK_WAY_AO) quotient = top / most / tensor_scale;
        if (way == HU_BLOCK_WAY_EDEN) quotient = top / HU_BLOCK_EDEN / tensor_scale;
        c[i] = scale_or_nan(tops[i], more * quotient);
    }
}

/* Scales as they are taken: none of AO's is below the smallest normal number, none of EDEN's is 0.
 */
static void take(const hu_blocker *b, size_t tiles, float *c) {
    const bool is_ao = b->format.way == HU_BLOCK_WAY_AO;
    if (!is_ao && b->format.way != HU_BLOCK_WAY_EDEN) return;
    for (size_t i = 0; i < tiles; i++)
        if (is_ao ? c[i] < b->scale_least : c[i] == 0.0f) c[i] = is_ao ? b->scale_least : 1.0f;
}

/* Each way is a loop of its own. */
static void find_quotients(const hu_blocker *b, float tensor_scale, float more, size_t tiles,
                           const uint32_t *tops, float *c) {
    switch (b->format.way) {
    case HU_BLOCK_WAY_TE:
        set_quotients(b, HU_BLOCK_WAY_TE, tensor_scale, more, tiles, tops, c);
        break;
    case HU_BLOCK_WAY_AO:
        set_quotients(b, HU_BLOCK_WAY_AO, tensor_scale, more, tiles, tops, c);
        break;
    case HU_BLOCK_WAY_EDEN:
        set_quotients(b, HU_BLOCK_WAY_EDEN, tensor_scale, more, tiles, tops, c);
        break;
    default:
        set_quotients(b, HU_BLOCK_WAY_OWN, tensor_scale, more, tiles, tops, c);
    }
}

/* Scales that are no powers of two, as numbers. */
static void set_numbers(const hu_blocker *b, float tensor_scale, float more, size_t tiles,
                        const uint32_t *tops, float *c) {
    if (b->format.scale == HU_BLOCK_SCALE_FORMAT) {
        find_quotients(b, tensor_scale, more, tiles, tops, c);
        hu_rounder_run(&b->scale_rounder, tiles, c, c, NULL, 0, NULL);
        take(b, tiles, c);
    } else if (b->format.way == HU_BLOCK_WAY_TE) {
        set_singles(b, true, tiles, tops, c);
    } else {
        set_singles(b, false, tiles, tops, c);
    }
}

void HU_VARIANT(hu_block_set_scales)(const hu_blocker *b, float tensor_scale, float more,
                                     size_t tiles, const uint32_t *tops, uint8_t *scales) {
    float c[HU_BLOCK_SLAB_TILES];
    if (b->format.scale == HU_BLOCK_SCALE_E8M0) {
        set_powers(b, tiles, tops, scales);
    } else if (tiles > 0) {
        set_numbers(b, tensor_scale, more, tiles, tops, c);
        hu_block_write_scales(b, tiles, c, scales);
    }
}

/* ---- units ---- */

/* 2^(code - 127); code 0 is a binary32 subnormal, 255 is NaN. */
HU_INLINE float power(uint32_t code) {
    uint32_t bits = code ? code << 23 : 1u << 22;
    return hu_f32_of_bits(code == 255 ? HU_F32_NAN : bits);
}

/* The inverse of 2^(code - 127) is 2^(127 - code): a product instead of a quotient, with the same
 * result. */
HU_INLINE float inverse_power(uint32_t code) {
    return power(code == 255 ? 255 : 254u - code);
}

static void power_units(size_t tiles, const uint8_t *restrict codes, float *restrict unit,
                        float *restrict inverse) {
#pragma omp simd
    for (size_t i = 0; i < tiles; i++) unit[i] = power(codes[i]);
    if (!inverse) return;
#pragma omp simd
    for (size_t i = 0; i < tiles; i++) inverse[i] = inverse_power(codes[i]);
}

/* The same where no codes are wanted. */
static void power_units_of(const hu_blocker *b, size_t tiles, const uint32_t *restrict tops,
                           float *restrict unit, float *restrict inverse) {
    const int32_t emax = b->emax, limit = (int32_t)b->top_limit;
#pragma omp simd
    for (size_t i = 0; i < tiles; i++) {
        uint32_t code = (uint32_t)code_of_power(tops[i], limit, emax);
        unit[i] = power(code);
        inverse[i] = inverse_power(code);
    }
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
static void factored_units(const hu_blocker *b, float tensor_scale, size_t tiles,
                           float *restrict unit, float *restrict inverse) {
    const float back = 1.0f / tensor_scale;
    const bool is_te = b->format.way == HU_BLOCK_WAY_TE;
    const float factor = is_te ? back : tensor_scale;
    if (inverse && !b->divides)
        for (size_t i = 0; i < tiles; i++)
            inverse[i] = lesser(is_te ? 1.0f / (unit[i] * factor) : back / unit[i], largest());
#pragma omp simd
    for (size_t i = 0; i < tiles; i++) unit[i] *= factor;
}

/* Scales in unit become units. */
static void units_of_numbers(const hu_blocker *b, float tensor_scale, size_t tiles, float *unit,
                             float *inverse) {
    if (b->format.scale == HU_BLOCK_SCALE_F32)
        single_units(b, tiles, unit, inverse);
    else
        factored_units(b, tensor_scale, tiles, unit, inverse);
}

void HU_VARIANT(hu_block_set_units)(const hu_blocker *b, float tensor_scale, size_t tiles,
                                    const uint8_t *scales, float *unit, float *inverse) {
    if (b->format.scale == HU_BLOCK_SCALE_E8M0) {
        power_units(tiles, scales, unit, inverse);
        return;
    }
    if (b->scale_bytes == 1) {
        const float *value = b->scale_value;
#pragma omp simd
        for (size_t i = 0; i < tiles; i++) unit[i] = value[scales[i]];
    } else {
        hu_block_read_scales(b, tiles, scales, unit);
    }
    units_of_numbers(b, tensor_scale, tiles, unit, inverse);
}

/* What is stored of a scale is the number that it is. */
void HU_VARIANT(hu_block_set_both)(const hu_blocker *b, float tensor_scale, size_t tiles,
                                   const uint32_t *tops, uint8_t *scales, float *unit,
                                   float *inverse) {
    if (b->format.scale == HU_BLOCK_SCALE_E8M0) {
        if (scales) {
            set_powers(b, tiles, tops, scales);
            power_units(tiles, scales, unit, inverse);
        } else {
            power_units_of(b, tiles, tops, unit, inverse);
        }
    } else if (tiles > 0) {
        set_numbers(b, tensor_scale, 1.0f, tiles, tops, unit);
        if (scales) hu_block_write_scales(b, tiles, unit, scales);
        units_of_numbers(b, tensor_scale, tiles, unit, inverse);
    }
}
