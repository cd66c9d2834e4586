#include "base/decimal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

/* "1e+22" becomes "1e22", "1e-07" becomes "1e-7". */
static void trim_exponent(char *text) {
    char *from = strchr(text, 'e'), *to = from;
    if (!from) return;
    *to++ = *from++;
    if (*from == '-') *to++ = '-';
    from += strspn(from, "+-0");
    memmove(to, from, strlen(from) + 1);
}

const char *hu_decimal_text(double value, char *text) {
    enum { ALWAYS = 15, MOST = 17 };
    int digits = fabs(value) < DBL_MIN ? 1 : ALWAYS;
    do snprintf(text, HU_DECIMAL_BYTES, "%.*g", digits, value);
    while (hu_f64_bits(strtod(text, NULL)) != hu_f64_bits(value) && ++digits <= MOST);
    trim_exponent(text);
    return text;
}
