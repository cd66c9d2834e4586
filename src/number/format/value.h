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

/* Hash of the file that a table's numbers stand in; 0 where the name says all. */
uint64_t hu_format_content(const hu_format *format);

/* Whether a code is NaN, or an infinity of each sign. */
int hu_format_has_nan(const hu_format *format);
int hu_format_has_infinity(const hu_format *format);

/* float32 pattern of the magnitude code of a finite number; exact for every valid format. */
uint32_t hu_format_magnitude_bits(const hu_format *format, uint32_t code);

/* How dense numbers lie. */

/* Distance of neighbours in the binade 2^exponent .. 2^(exponent + 1), as of numbers below the
 * smallest normal one where that is higher; of a table the root of the mean square of those in
 * which the binade's numbers lie. */
double hu_format_step(const hu_format *format, int exponent);

/* Bits after the point where numbers are densest: a float's mantissa bits. */
int hu_format_precision(const hu_format *format);

/* Distance from 1 to the next larger number; 0 if there is none. */
double hu_format_epsilon(const hu_format *format);

/* Distinct finite numbers that rounding may give, +0 and -0 counted once. */
uint64_t hu_format_numbers(const hu_format *format);

/* Binades below this exponent become 0 when rounded to nearest even. */
int hu_format_least_exponent(const hu_format *format);

/* Under nearest-even: what is below `zero` becomes zero; what is in subnormal..normal is subnormal
 * or flushed, where subnormal < normal. */
typedef struct hu_vanishing {
    double zero, subnormal, normal;
} hu_vanishing;
hu_vanishing hu_format_vanishing(const hu_format *format);

/* What a table is, in a line; NULL of a float. Borrowed: valid forever. */
const char *hu_format_summary(const hu_format *format);

/* Numbers as they are written, rounded to a format once. */

/* The number that text writes, whole: decimal or hexadecimal as C has them, inf or nan; rounded
 * once, not to float32 first. HU_ERR_PARSE: it is none. */
hu_status hu_format_round_text(const hu_format *format, hu_rounding rounding, const char *text,
                               uint32_t random_word, float *y);

#endif
