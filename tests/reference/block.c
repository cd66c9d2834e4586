/* One block by the integer reference of formats: what every kernel must
 * equal. Division by 2^k is rounding to the format whose bias is lower by k. */
#include "reference/block.h"

#include "format/value.h"

static int is_integer(const hu_format *element) {
    return element->specials == HU_SPECIALS_FNUZ;
}

/* Sign and magnitude -> two's complement. */
static uint8_t stored_code(const hu_format *element, uint32_t code) {
    uint32_t magnitude = code & 0x7F;
    int is_negative = code > 0x7F;
    return (uint8_t)(is_integer(element) && is_negative ? 256 - magnitude : code);
}

/* NaN and infinity have larger bits than all finite numbers, so they win. */
static uint32_t largest_bits(size_t n, const float *x) {
    uint32_t top = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t u = hu_f32_bits(x[i]) & ~HU_F32_SIGN;
        if (u > top) top = u;
    }
    return top;
}

/* a = significand 2^(exponent - 23) with the leading one at bit 23; bits > 0. */
static uint32_t split(uint32_t bits, int *exponent) {
    if (bits >> 23) {
        *exponent = (int)(bits >> 23) - 127;
        return (bits & 0x7FFFFFu) | 1u << 23;
    }
    int up = __builtin_clz(bits) - 8;
    *exponent = -126 - up;
    return bits << up;
}

/* k of the scale 2^k for a largest magnitude a, in the words of hu_block_power. */
static int power_of(const hu_block_format *format, uint32_t top) {
    const hu_format *element = &format->element;
    uint32_t most = hu_format_magnitude_bits(element, hu_format_code_max(element));
    int floor_log2, emax, m = element->man_bits;
    if (top == 0) return -127;
    uint32_t a = split(top, &floor_log2), largest = split(most, &emax);
    switch (format->power) {
    case HU_BLOCK_CEIL:
        return floor_log2 + (a > 1u << 23) - emax;
    case HU_BLOCK_RCEIL:
        return floor_log2 - emax + (a > largest);
    case HU_BLOCK_EVEN: /* half a unit is added, and the bits after cut off */
        return floor_log2 + (int)(((a + (1u << (22 - m))) >> (23 - m)) >> (m + 1)) - emax;
    default:
        return floor_log2 - emax;
    }
}

/* MX. y and codes are those of the element format with its bias lowered by k. */
static void power_block(const hu_block_format *format, hu_rounding rounding, size_t n,
                        const float *x, const uint32_t *words, float *y, uint8_t *codes,
                        uint8_t *scale, uint32_t top) {
    int k = power_of(format, top), most = 127 - hu_format_limits_of(&format->element).emax;
    if (k < -127) k = -127;
    if (k > most) k = most;
    hu_format scaled = hu_format_scaled(&format->element, k);
    *scale = (uint8_t)(k + 127);
    for (size_t i = 0; i < n; i++) {
        uint32_t code;
        y[i] = hu_format_round(&scaled, rounding, x[i], words ? words[i] : 0);
        hu_format_encode(&scaled, y[i], &code);
        codes[i] = stored_code(&format->element, code);
    }
}

/* A quotient rounded to float32 loses nothing that a narrow format would see but its being nonzero.
 */
static float quotient(float x, float d) {
    uint32_t sign = hu_f32_bits(x) & HU_F32_SIGN;
    float q = x / d;
    int is_small = (hu_f32_bits(q) & ~HU_F32_SIGN) < 0x00800000u;
    if (x == 0.0f || !is_small) return q;
    return hu_f32_of_bits(sign | 0x00800000u);
}

/* NVFP4, in the float32 operations that block.h names, one after the other. */
static void fraction_block(const hu_block_format *format, hu_rounding rounding, float tensor_scale,
                           size_t n, const float *x, const uint32_t *words, float *y,
                           uint8_t *codes, uint8_t *scale, uint32_t top) {
    static const hu_format e4m3 = {.exp_bits = 4,
                                   .man_bits = 3,
                                   .bias = 7,
                                   .specials = HU_SPECIALS_FN,
                                   .subnormals = 1,
                                   .overflow = HU_OVERFLOW_SAT};
    float six = 6.0f * tensor_scale;
    float c = hu_format_round(&e4m3, HU_ROUND_NEAREST_EVEN, hu_f32_of_bits(top) / six, 0);
    float d = c * tensor_scale;
    uint32_t code;
    hu_format_encode(&e4m3, c, &code);
    *scale = (uint8_t)code;
    for (size_t i = 0; i < n; i++) {
        uint32_t sign = hu_f32_bits(x[i]) & HU_F32_SIGN;
        float q = c > 0.0f ? quotient(x[i], d) : hu_f32_of_bits(sign);
        float p = hu_format_round(&format->element, rounding, q, words ? words[i] : 0);
        float value = p * d;
        hu_format_encode(&format->element, p, &code);
        codes[i] = stored_code(&format->element, code);
        if ((hu_f32_bits(value) & ~HU_F32_SIGN) == HU_F32_INFINITY)
            value = hu_f32_of_bits(hu_f32_bits(value) - 1);
        y[i] = value;
    }
}

void hu_block_reference(const hu_block_format *format, hu_rounding rounding, float tensor_scale,
                        size_t n, const float *x, const uint32_t *words, float *y, uint8_t *codes,
                        uint8_t *scale) {
    uint32_t top = largest_bits(n, x);
    int is_power = format->scale == HU_BLOCK_SCALE_E8M0;
    if (top >= HU_F32_INFINITY) {
        *scale = is_power ? 255 : 0x7F;
        for (size_t i = 0; i < n; i++) {
            y[i] = hu_f32_of_bits(HU_F32_NAN);
            codes[i] = 0;
        }
    } else if (is_power) {
        power_block(format, rounding, n, x, words, y, codes, scale, top);
    } else {
        fraction_block(format, rounding, tensor_scale, n, x, words, y, codes, scale, top);
    }
}
