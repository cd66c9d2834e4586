/* format/value.h - between codes of a format and bit patterns of float32, by integers alone. */
#ifndef HU_FORMAT_VALUE_H
#define HU_FORMAT_VALUE_H
#include <stdint.h>

#include <halfulp/format.h>

#include "base/bits.h"
#include "base/text.h"

/* Whether a valid format is one by table: its fields are none of a float. */
static inline int hu_format_is_table(const hu_format *format) {
    return format->table != 0;
}

/* Exponent of the smallest normal number. */
static inline int hu_format_emin(const hu_format *format) {
    return 1 - format->bias;
}

/* Binades below this exponent become 0 when rounded to nearest even. */
static inline int hu_format_least_exponent(const hu_format *format) {
    if (format->subnormals) return hu_format_emin(format) - format->man_bits - 1;
    return hu_format_emin(format) - (format->underflow == HU_UNDERFLOW_NEAREST ? 1 : 0);
}

/* Mantissa bits of the grid that numbers of a binade are rounded to: none below the smallest normal
 * number where they go to it or to zero. */
static inline int hu_format_grid_bits(const hu_format *format, int exponent) {
    int is_coarse = format->underflow == HU_UNDERFLOW_NEAREST && exponent < hu_format_emin(format);
    return is_coarse ? 0 : format->man_bits;
}

/* Magnitude code (without sign) of the largest finite number. IEEE formats lose the whole top
 * binade to infinity and NaN, fn formats the last code; fin and fnuz formats keep all codes.
 * Source: docs/reference/numerics/formats.md, "Formats". */
static inline uint32_t hu_format_code_max(const hu_format *format) {
    uint32_t hidden = 1u << format->man_bits, magnitudes = hidden << format->exp_bits;
    switch (format->specials) {
    case HU_SPECIALS_IEEE:
        return magnitudes - hidden - 1;
    case HU_SPECIALS_FN:
        return magnitudes - 2;
    default:
        return magnitudes - 1;
    }
}

/* Least and largest k with which all numbers 2^k f of the format's numbers f are float32's: those
 * of the same format with the bias lowered by k. */
void hu_format_scales(const hu_format *format, int32_t *least, int32_t *most);

/* Whether a code is NaN, or an infinity of each sign. */
int hu_format_has_nan(const hu_format *format);
int hu_format_has_infinity(const hu_format *format);

/* float32 pattern of the magnitude code of a finite number; exact for every valid format. */
uint32_t hu_format_magnitude_bits(const hu_format *format, uint32_t code);

/* Numbers as they are written, rounded to a format once. */

/* The number that text writes, whole: decimal or hexadecimal as C has them, inf or nan; rounded
 * once, not to float32 first. HU_ERR_PARSE: it is none. */
hu_status hu_format_round_text(const hu_format *format, hu_rounding rounding, const char *text,
                               uint32_t random_word, float *y);

#endif
