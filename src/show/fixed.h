/* show/fixed.h - numbers with a fixed count of decimals that may be unknown. */
#ifndef HU_SHOW_FIXED_H
#define HU_SHOW_FIXED_H

enum { HU_FIXED_BYTES = 352 }; /* of any number with up to 16 decimals */

/* "0.4312"; "-" for NaN, which stands for what is not known: a mean over nothing, a rate without a
 * time; "inf". decimals: up to 16. Gives text. */
const char *hu_fixed_text(double value, int decimals, char text[HU_FIXED_BYTES]);

#endif
