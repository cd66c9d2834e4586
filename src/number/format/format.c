#include <math.h>
#include <stdbool.h>

#include <halfulp/format.h>

#include "base/error.h"
#include "format/draft.h"
#include "format/table/table.h"
#include "format/value.h"

/* ---- format ---- */

/* The words of specials=, indexed by hu_specials. */
static const char *const specials_names[] = {
    [HU_SPECIALS_IEEE] = "ieee",
    [HU_SPECIALS_FIN] = "fin",
    [HU_SPECIALS_FN] = "fn",
    [HU_SPECIALS_FNUZ] = "fnuz",
};

/* The words of ovf=, indexed by hu_overflow. */
static const char *const overflow_names[] = {
    [HU_OVERFLOW_INF] = "inf",   [HU_OVERFLOW_SAT] = "sat",
    [HU_OVERFLOW_NAN] = "nan",   [HU_OVERFLOW_PROPAGATE] = "propagate",
    [HU_OVERFLOW_NONE] = "none",
};

const char *hu_specials_name(int64_t specials) {
    return specials >= 0 && specials <= HU_SPECIALS_FNUZ ? specials_names[specials] : NULL;
}

const char *hu_subnormals_name(int64_t subnormals) {
    static const char *const names[] = {"n", "d", [HU_SUBNORMALS_NEAREST] = "nearest"};
    return subnormals >= 0 && subnormals <= HU_SUBNORMALS_NEAREST ? names[subnormals] : NULL;
}

const char *hu_format_subnormals_name(const hu_format *format) {
    return hu_subnormals_name(hu_format_draft_of(format).value[HU_FIELD_SUBNORMALS]);
}

const char *hu_nan_name(int64_t nan) {
    static const char *const names[] = {[HU_NAN_STAYS] = "nan", [HU_NAN_OVERFLOWS] = "ovf"};
    return nan >= 0 && nan <= HU_NAN_OVERFLOWS ? names[nan] : NULL;
}

const char *hu_overflow_name(int64_t overflow) {
    return overflow >= 0 && overflow <= HU_OVERFLOW_NONE ? overflow_names[overflow] : NULL;
}

/* IEEE 754-2019, table 3.5: the bias is the largest exponent, 2^(w-1) - 1 for w exponent bits. */
int64_t hu_format_default_bias(int64_t exp_bits) {
    return exp_bits >= 1 && exp_bits <= 8 ? ((int64_t)1 << (exp_bits - 1)) - 1 : 0;
}

/* Each family ends its range as its definition says: IEEE in infinity, FIN (which has neither
 * infinity nor NaN) in its largest number, FN and FNUZ in their NaN. */
hu_overflow hu_format_default_overflow(hu_specials specials) {
    switch (specials) {
    case HU_SPECIALS_IEEE:
        return HU_OVERFLOW_INF;
    case HU_SPECIALS_FIN:
        return HU_OVERFLOW_SAT;
    default:
        return HU_OVERFLOW_NAN;
    }
}

/* Field by field: the reserved bytes are no part of what a format means. */
int hu_format_equal(const hu_format *a, const hu_format *b) {
    if (!a || !b) return a == b;
    return a->exp_bits == b->exp_bits && a->man_bits == b->man_bits && a->specials == b->specials &&
           a->subnormals == b->subnormals && a->overflow == b->overflow && a->bias == b->bias &&
           a->underflow == b->underflow && a->nan == b->nan && a->table == b->table;
}

hu_format_draft hu_format_draft_of(const hu_format *format) {
    bool is_nearest = !format->subnormals && format->underflow == HU_UNDERFLOW_NEAREST;
    return (hu_format_draft){{
        [HU_FIELD_EXP_BITS] = format->exp_bits,
        [HU_FIELD_MAN_BITS] = format->man_bits,
        [HU_FIELD_BIAS] = format->bias,
        [HU_FIELD_SPECIALS] = format->specials,
        [HU_FIELD_SUBNORMALS] = is_nearest ? HU_SUBNORMALS_NEAREST : format->subnormals,
        [HU_FIELD_OVERFLOW] = format->overflow,
        [HU_FIELD_NAN] = format->nan,
    }};
}

/* The casts lose nothing: the draft was checked. */
hu_format hu_format_of_draft(const hu_format_draft *draft) {
    bool is_nearest = draft->value[HU_FIELD_SUBNORMALS] == HU_SUBNORMALS_NEAREST;
    return (hu_format){
        .exp_bits = (uint8_t)draft->value[HU_FIELD_EXP_BITS],
        .man_bits = (uint8_t)draft->value[HU_FIELD_MAN_BITS],
        .bias = (int32_t)draft->value[HU_FIELD_BIAS],
        .specials = (uint8_t)draft->value[HU_FIELD_SPECIALS],
        .subnormals = is_nearest ? 0 : (uint8_t)draft->value[HU_FIELD_SUBNORMALS],
        .overflow = (uint8_t)draft->value[HU_FIELD_OVERFLOW],
        .underflow = is_nearest ? HU_UNDERFLOW_NEAREST : HU_UNDERFLOW_FLUSH,
        .nan = (uint8_t)draft->value[HU_FIELD_NAN],
    };
}

/* The codes of the enumerated fields. */
static hu_status check_choices(const int64_t *value, hu_format_field *field) {
    *field = HU_FIELD_SPECIALS;
    if (hu_specials_name(value[HU_FIELD_SPECIALS]) == NULL)
        return hu_fail(HU_ERR_FORMAT, "specials %lld, allowed 0..3 (ieee, fin, fn, fnuz)",
                       (long long)value[HU_FIELD_SPECIALS]);
    *field = HU_FIELD_SUBNORMALS;
    if (hu_subnormals_name(value[HU_FIELD_SUBNORMALS]) == NULL)
        return hu_fail(HU_ERR_FORMAT, "subnormals %lld, allowed 0..2 (n, d, nearest)",
                       (long long)value[HU_FIELD_SUBNORMALS]);
    *field = HU_FIELD_OVERFLOW;
    if (hu_overflow_name(value[HU_FIELD_OVERFLOW]) == NULL)
        return hu_fail(HU_ERR_FORMAT,
                       "overflow %lld, allowed 0..4 (inf, sat, nan, propagate, none)",
                       (long long)value[HU_FIELD_OVERFLOW]);
    if (value[HU_FIELD_OVERFLOW] == HU_OVERFLOW_NONE)
        return hu_fail(HU_ERR_FORMAT,
                       "ovf=none of a float, allowed with formats by table and those "
                       "of IEEE P3109");
    if (value[HU_FIELD_OVERFLOW] == HU_OVERFLOW_PROPAGATE &&
        value[HU_FIELD_SPECIALS] != HU_SPECIALS_IEEE)
        return hu_fail(
            HU_ERR_FORMAT,
            "ovf=propagate with specials %s, allowed with ieee: without infinities it is "
            "ovf=sat",
            specials_names[value[HU_FIELD_SPECIALS]]);
    *field = HU_FIELD_NAN;
    if (hu_nan_name(value[HU_FIELD_NAN]) == NULL)
        return hu_fail(HU_ERR_FORMAT, "nan %lld, allowed 0..1 (nan, ovf)",
                       (long long)value[HU_FIELD_NAN]);
    /* Where there is a NaN, none is lost. */
    if (value[HU_FIELD_NAN] != HU_NAN_STAYS && value[HU_FIELD_SPECIALS] != HU_SPECIALS_FIN)
        return hu_fail(HU_ERR_FORMAT, "nan=ovf with specials %s, allowed with fin",
                       specials_names[value[HU_FIELD_SPECIALS]]);
    return HU_OK;
}

/* Field widths: alone, then together with the specials. */
static hu_status check_widths(const int64_t *value, hu_format_field *field) {
    int64_t exp_bits = value[HU_FIELD_EXP_BITS], man_bits = value[HU_FIELD_MAN_BITS];
    int64_t specials = value[HU_FIELD_SPECIALS];
    *field = HU_FIELD_EXP_BITS;
    if (exp_bits < 1 || exp_bits > 8)
        return hu_fail(HU_ERR_FORMAT, "exponent bits %lld, allowed 1..8", (long long)exp_bits);
    /* IEEE takes two exponent fields, for subnormals and for infinity: one bit leaves none for
     * numbers. */
    if (exp_bits == 1 && specials == HU_SPECIALS_IEEE)
        return hu_fail(HU_ERR_FORMAT, "exponent bits 1, allowed 2..8 with specials ieee");
    /* Without IEEE's infinities the top field holds numbers: with the usual bias, beyond float32's.
     */
    if (exp_bits == 8 && specials != HU_SPECIALS_IEEE)
        return hu_fail(HU_ERR_FORMAT, "exponent bits 8, allowed 1..7 with specials %s",
                       specials_names[specials]);
    *field = HU_FIELD_MAN_BITS;
    if (man_bits < 0 || man_bits > 23)
        return hu_fail(HU_ERR_FORMAT, "mantissa bits %lld, allowed 0..23", (long long)man_bits);
    /* Without fraction bits the NaN of FN would take a whole binade; FNUZ is held to the same
     * bound. */
    if (man_bits == 0 && (specials == HU_SPECIALS_FN || specials == HU_SPECIALS_FNUZ))
        return hu_fail(HU_ERR_FORMAT, "mantissa bits 0, allowed 1..23 with specials %s",
                       specials_names[specials]);
    return HU_OK;
}

hu_status hu_format_draft_check(const hu_format_draft *draft, hu_format_field *field) {
    const int64_t *value = draft->value;
    hu_status st = HU_OK;
    HU_TRY(check_choices(value, field));
    HU_TRY(check_widths(value, field));
    /* Every value must be a float32: the largest exponent is the last field's that holds numbers,
     * less the bias, and the smallest unit is 2^(1 - bias - man_bits). */
    int64_t top_field = ((int64_t)1 << value[HU_FIELD_EXP_BITS]) -
                        (value[HU_FIELD_SPECIALS] == HU_SPECIALS_IEEE ? 2 : 1);
    int64_t least = top_field - 127;                   /* emax <= 127 */
    int64_t greatest = 150 - value[HU_FIELD_MAN_BITS]; /* emin - man_bits >= -149 */
    *field = HU_FIELD_BIAS;
    if (value[HU_FIELD_BIAS] < least || value[HU_FIELD_BIAS] > greatest)
        st = hu_fail(HU_ERR_FORMAT,
                     "bias %lld, allowed %lld..%lld with %lld exponent and %lld mantissa bits "
                     "(values must fit float32)",
                     (long long)value[HU_FIELD_BIAS], (long long)least, (long long)greatest,
                     (long long)value[HU_FIELD_EXP_BITS], (long long)value[HU_FIELD_MAN_BITS]);
done:
    return st;
}

hu_status hu_format_check(const hu_format *format) {
    HU_GIVEN(format);
    hu_format_field field;
    hu_format_draft draft = hu_format_draft_of(format);
    /* A program built for a later header may have set them; what they would mean is not known
     * here. */
    if (format->table != 0 && format->specials == HU_SPECIALS_TABLE)
        return hu_code_table_check(format);
    if (format->reserved != 0 || format->table != 0)
        return hu_fail(HU_ERR_FORMAT, "reserved bytes of the format are not zero");
    if (format->subnormals > 1)
        return hu_fail(HU_ERR_FORMAT, "subnormals %d, allowed 0 or 1", (int)format->subnormals);
    if (format->underflow > HU_UNDERFLOW_NEAREST)
        return hu_fail(HU_ERR_FORMAT, "underflow %d, allowed 0..1 (flush, nearest)",
                       (int)format->underflow);
    if (format->underflow != HU_UNDERFLOW_FLUSH && format->subnormals)
        return hu_fail(HU_ERR_FORMAT, "underflow nearest with subnormals, allowed without");
    return hu_format_draft_check(&draft, &field);
}

/* One bit is the sign: every format has one. */
uint32_t hu_format_bits(const hu_format *format) {
    if (!format) return 0;
    if (hu_format_is_table(format)) return hu_code_table_of(format)->bits;
    return 1u + format->exp_bits + format->man_bits;
}

/* Every number here is a binary64 number: at most 25 bits, exponents -150..128.
 */
hu_format_limits hu_format_limits_of(const hu_format *format) {
    if (!format) return (hu_format_limits){0};
    if (hu_format_is_table(format)) return hu_code_table_limits(format);
    int emin = hu_format_emin(format), man_bits = format->man_bits;
    uint32_t code_max = hu_format_code_max(format);
    int emax = (int)(code_max >> man_bits) - 1 + emin;
    double max_finite = hu_f32_of_bits(hu_format_magnitude_bits(format, code_max));
    double min_normal = ldexp(1.0, emin);
    int has_subnormals = format->subnormals && man_bits > 0;
    int is_nearest = format->underflow == HU_UNDERFLOW_NEAREST;
    /* The quantum of subnormals, and of the smallest normal numbers. */
    double step = ldexp(1.0, emin - man_bits);
    /* Half a quantum above zero, or below the smallest normal number. */
    double lost = has_subnormals ? step / 2 : is_nearest ? min_normal / 2 : min_normal - step / 2;
    return (hu_format_limits){
        .emin = emin,
        .emax = emax,
        .code_max = code_max,
        .codes = (uint64_t)1 << hu_format_bits(format),
        .max_finite = max_finite,
        .min_normal = min_normal,
        .min_subnormal = has_subnormals ? step : min_normal,
        /* Half a quantum above the largest number: what nearest rounding decides by. */
        .overflow_threshold = max_finite + ldexp(0.5, emax - man_bits),
        .underflow_threshold = lost,
    };
}

void hu_format_scales(const hu_format *format, int32_t *least, int32_t *most) {
    if (hu_format_is_table(format)) {
        const hu_code_table *t = hu_code_table_of(format);
        *least = format->bias - t->most_bias;
        *most = format->bias - t->least_bias;
        return;
    }
    int32_t emin = hu_format_emin(format);
    int32_t emax = (int32_t)(hu_format_code_max(format) >> format->man_bits) - 1 + emin;
    *least = -149 - (emin - format->man_bits);
    *most = 127 - emax;
}

int hu_format_has_nan(const hu_format *format) {
    if (hu_format_is_table(format)) return hu_code_table_of(format)->nan_code >= 0;
    return format->specials != HU_SPECIALS_FIN &&
           !(format->specials == HU_SPECIALS_IEEE && format->man_bits == 0);
}

int hu_format_has_infinity(const hu_format *format) {
    if (!hu_format_is_table(format)) return format->specials == HU_SPECIALS_IEEE;
    return hu_code_table_has_infinities(format);
}

/* ---- Codes of a format and their values ---- */

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
    if (hu_format_is_table(format)) return hu_code_table_encode(format, x, code);
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
    if (hu_format_is_table(format)) return hu_code_table_decode(format, code, x);
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
