/* format/text.h - numbers as they are written, rounded to a format once. */
#ifndef HU_FORMAT_TEXT_H
#define HU_FORMAT_TEXT_H
#include <halfulp/format.h>

#include "base/text.h"

/* As hu_format_round, of a number that need not be a float32. format->man_bits + 33 bits at most
 * decide, so that a wide number gives what the number behind it gives. */
float hu_format_round_wide(const hu_format *format, hu_rounding rounding, const hu_wide *x,
                           uint32_t random_word);

/* The number that text writes, whole: decimal or hexadecimal as C has them, inf or nan; rounded
 * once, not to float32 first. HU_ERR_PARSE: it is none. */
hu_status hu_format_round_text(const hu_format *format, hu_rounding rounding, const char *text,
                               uint32_t random_word, float *y);

#endif
