/* base/decimal.h - doubles as decimals that are no longer than they need to be. */
#ifndef HU_BASE_DECIMAL_H
#define HU_BASE_DECIMAL_H

enum { HU_DECIMAL_BYTES = 32 };

/* The decimal of the fewest digits that is read back as the same double: "0.1", "1e22", "65536".
 * Of a few powers of two, whose neighbour below is the nearer one, it has a digit more, 17. value
 * is finite; the locale has a decimal point. text: room for HU_DECIMAL_BYTES. Gives text. Any
 * decimal of 15 digits or fewer stands for itself (IEEE 754-2019, 5.12.2), so that %.15g is the
 * shortest if it reads back; not so below the normal numbers. Proof:
 * tests/unit/base_decimal_test.c. */
const char *hu_decimal_text(double value, char *text);

#endif
