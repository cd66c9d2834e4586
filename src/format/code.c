/* format/code.c - codes of a format and their values. */
#include <halfulp/format.h>

#include "base/error.h"
#include "base/given.h"
#include "format/value.h"

/* Position of the highest one; value > 0. */
static int top_bit(uint32_t value) {
    return 31 - __builtin_clz(value);
}

/* A field of 0 holds subnormals: no hidden one, and the exponent of field 1 (IEEE 754-2019,
 * 3.4). */
uint32_t hu_format_magnitude_bits(const hu_format *format, uint32_t code) {
    int man_bits = format->man_bits;
    uint32_t hidden = 1u << man_bits, fraction = code & (hidden - 1);
    int field = (int)(code >> man_bits);
    /* value = significand 2^scale */
    uint32_t significand = field == 0 ? fraction : hidden | fraction;
    int scale = (field == 0 ? 0 : field - 1) + hu_format_emin(format) - man_bits;
    if (significand == 0) return 0;
    int exponent = top_bit(significand) + scale;
    /* binary32's subnormals count units of 2^-149. */
    if (exponent < -126) return significand << (scale + 149);
    uint32_t aligned = significand << (23 - top_bit(significand));
    return ((uint32_t)(exponent + 127) << 23) | (aligned & 0x7FFFFFu);
}

/* Magnitude code of the NaN that stands for all NaNs; 0 if the format has none. */
static uint32_t nan_magnitude(const hu_format *format) {
    uint32_t magnitudes = 1u << (format->exp_bits + format->man_bits);
    int has_nan = format->specials == HU_SPECIALS_FN ||
                  (format->specials == HU_SPECIALS_IEEE && format->man_bits > 0);
    return has_nan ? magnitudes - 1 : 0;
}

/* Infinities and NaNs: HU_ERR_FORMAT where the format has no code for them. */
static hu_status encode_special(const hu_format *format, uint32_t bits, uint32_t *magnitude) {
    int is_nan = bits > HU_F32_INFINITY;
    if (is_nan) *magnitude = nan_magnitude(format);
    if (!is_nan && format->specials == HU_SPECIALS_IEEE)
        *magnitude = hu_format_code_max(format) + 1;
    if (*magnitude != 0) return HU_OK;
    return hu_fail(HU_ERR_FORMAT, "%s has no code in this format", is_nan ? "NaN" : "infinity");
}

/* bits: magnitude of a finite nonzero float32. Found by truncation, then checked by decoding. */
static hu_status encode_finite(const hu_format *format, uint32_t bits, uint32_t *magnitude) {
    int exponent = (int)(bits >> 23) - 127, man_bits = format->man_bits;
    int emin = hu_format_emin(format);
    uint32_t significand = bits & 0x7FFFFFu;
    if (bits >> 23 == 0) {
        int up = 23 - top_bit(significand);
        significand <<= up;
        exponent = -126 - up;
    }
    significand |= 1u << 23;
    int place = exponent > emin ? exponent : emin;
    /* Places that the format cuts off: more below its smallest normal number. */
    int shift = 23 - man_bits + (place - exponent);
    uint64_t code =
        ((uint64_t)(uint32_t)(place - emin) << man_bits) + (shift < 32 ? significand >> shift : 0);
    int is_flushed = !format->subnormals && code < 1u << man_bits;
    if (!is_flushed && code <= hu_format_code_max(format) &&
        hu_format_magnitude_bits(format, (uint32_t)code) == bits) {
        *magnitude = (uint32_t)code;
        return HU_OK;
    }
    return hu_fail(HU_ERR_FORMAT, "%a is not a value of this format", (double)hu_f32_of_bits(bits));
}

hu_status hu_format_encode(const hu_format *format, float x, uint32_t *code) {
    HU_GIVEN(code);
    *code = 0;
    HU_GIVEN(format);
    uint32_t bits = hu_f32_bits(x) & ~HU_F32_SIGN, sign = hu_f32_bits(x) >> 31, magnitude = 0;
    uint32_t sign_place = format->exp_bits + (uint32_t)format->man_bits;
    hu_status st = HU_OK;
    *code = 0;
    /* FNUZ: the code of -0 is the NaN, so zero has no sign. */
    if (format->specials == HU_SPECIALS_FNUZ && bits > HU_F32_INFINITY) {
        *code = 1u << sign_place;
        return HU_OK;
    }
    if (bits >= HU_F32_INFINITY)
        HU_TRY(encode_special(format, bits, &magnitude));
    else if (bits != 0)
        HU_TRY(encode_finite(format, bits, &magnitude));
    if (format->specials == HU_SPECIALS_FNUZ && magnitude == 0) sign = 0;
    *code = sign << sign_place | magnitude;
done:
    return st;
}

hu_status hu_format_decode(const hu_format *format, uint32_t code, float *x) {
    HU_GIVEN(x);
    HU_GIVEN(format);
    uint32_t sign_bit = 1u << (format->exp_bits + format->man_bits);
    *x = 0.0f;
    uint32_t last = sign_bit | (sign_bit - 1);
    if (code > last) return hu_fail(HU_ERR_ARGUMENT, "code 0x%x, allowed 0..0x%x", code, last);
    uint32_t magnitude = code & (sign_bit - 1);
    uint32_t sign = code >= sign_bit ? HU_F32_SIGN : 0;
    uint32_t infinity = hu_format_code_max(format) + 1;
    uint32_t bits;
    if (format->specials == HU_SPECIALS_FNUZ && code == sign_bit) {
        *x = hu_f32_of_bits(HU_F32_NAN);
        return HU_OK;
    }
    if (magnitude < infinity) {
        int is_flushed = !format->subnormals && magnitude < 1u << format->man_bits;
        bits = is_flushed ? 0 : hu_format_magnitude_bits(format, magnitude);
    } else {
        int is_infinity = format->specials == HU_SPECIALS_IEEE && magnitude == infinity;
        bits = is_infinity ? HU_F32_INFINITY : HU_F32_NAN;
    }
    if (format->specials == HU_SPECIALS_FNUZ && bits == 0) sign = 0;
    *x = hu_f32_of_bits(sign | bits);
    return HU_OK;
}
