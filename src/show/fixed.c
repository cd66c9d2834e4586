#include "show/fixed.h"

#include <math.h>
#include <stdio.h>

const char *hu_fixed_text(double value, int decimals, char text[HU_FIXED_BYTES]) {
    snprintf(text, HU_FIXED_BYTES, isnan(value) ? "-" : "%.*f", decimals, value);
    return text;
}
