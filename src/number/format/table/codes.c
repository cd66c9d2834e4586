/* format/table/codes.c - limits and codes of formats by table. */
#include <float.h>
#include <math.h>

#include "base/bits.h"
#include "base/error.h"
#include "format/table/table.h"

/* Every field but overflow, bias and table is what all tables have. */
hu_status hu_code_table_check(const hu_format *format) {
    const hu_code_table *t = hu_code_table_of(format);
    if (!t)
        return hu_fail(HU_ERR_FORMAT,
                       "table %u is none of this process, expected a format that was parsed here",
                       (unsigned)format->table);
    if (format->exp_bits || format->man_bits || format->subnormals != 1 || format->underflow ||
        format->nan || format->reserved)
        return hu_fail(HU_ERR_FORMAT, "a format by table with fields of a float");
    if (format->overflow > HU_OVERFLOW_NONE)
        return hu_fail(HU_ERR_FORMAT, "overflow %d, allowed 0..4 (inf, sat, nan, propagate, none)",
                       (int)format->overflow);
    if (format->bias != 0 && (format->bias < t->least_bias || format->bias > t->most_bias))
        return hu_fail(HU_ERR_FORMAT,
                       "bias %d, allowed %d..%d for %.100s (its numbers must be normal in float32)",
                       (int)format->bias, (int)t->least_bias, (int)t->most_bias, t->name);
    return HU_OK;
}

/* The smallest magnitude other than 0. */
static double least_of(const hu_code_table *t) {
    uint32_t below = t->first_positive - (t->has_zero ? 1 : 0);
    double plus = t->first_positive < t->count ? t->number[t->first_positive] : INFINITY;
    double minus = below > 0 ? -t->number[below - 1] : INFINITY;
    double least = plus < minus ? plus : minus;
    return isinf(least) ? 0 : least;
}

hu_format_limits hu_code_table_limits(const hu_format *format) {
    const hu_code_table *t = hu_code_table_of(format);
    double low = -t->number[0], high = t->number[t->count - 1];
    bool is_low = low > high;
    double most = is_low ? low : high, least = least_of(t);
    const hu_code_boundary *end = &t->boundary[is_low ? 0 : t->count];
    double lost =
        t->has_zero && t->first_positive < t->count ? t->boundary[t->first_positive].at : 0;
    double normal = t->min_normal > 0 ? t->min_normal : least;
    int emin = normal > 0 ? ilogb(normal) : 0;
    return (hu_format_limits){
        .emin = emin - format->bias,
        .emax = (most > 0 ? ilogb(most) : emin) - format->bias,
        .code_max = t->code[is_low ? 0 : t->count - 1],
        .codes = t->codes,
        .max_finite = ldexp(most, -format->bias),
        .min_normal = ldexp(normal, -format->bias),
        .min_subnormal = ldexp(least, -format->bias),
        .overflow_threshold = ldexp(fabs(end->at), -format->bias),
        .underflow_threshold = ldexp(lost, -format->bias),
    };
}

hu_status hu_code_table_encode(const hu_format *format, float x, uint32_t *code) {
    const hu_code_table *t = hu_code_table_of(format);
    uint32_t low = 0, high = t->count;
    *code = 0;
    int32_t special = isnan(x) ? t->nan_code : isinf(x) ? t->infinity_code[x < 0] : -1;
    if (special >= 0) {
        *code = (uint32_t)special;
        return HU_OK;
    }
    if (isnan(x) || isinf(x))
        return hu_fail(HU_ERR_FORMAT, "%s has no code in this format",
                       isnan(x) ? "NaN" : "infinity");
    double wanted = ldexp(x, format->bias);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (t->number[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == t->count || t->number[low] != wanted)
        return hu_fail(HU_ERR_FORMAT, "%a is not a value of this format", (double)x);
    *code = t->code[low];
    return HU_OK;
}

hu_status hu_code_table_decode(const hu_format *format, uint32_t code, float *x) {
    const hu_code_table *t = hu_code_table_of(format);
    *x = 0.0f;
    if (code >= t->codes)
        return hu_fail(HU_ERR_ARGUMENT, "code 0x%x, allowed 0..0x%x", (unsigned)code,
                       (unsigned)(t->codes - 1));
    *x = isnan(t->decoded[code]) ? hu_f32_of_bits(HU_F32_NAN)
                                 : ldexpf(t->decoded[code], -format->bias);
    return HU_OK;
}
