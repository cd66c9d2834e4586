/* base/decimal.h - numbers as text: doubles as decimals that are no longer than they need to be,
 * and texts as numbers of which nothing is lost. */
#ifndef HU_BASE_DECIMAL_H
#define HU_BASE_DECIMAL_H
#include <stdbool.h>
#include <stdint.h>

enum { HU_DECIMAL_BYTES = 32 };

/* The decimal of the fewest digits that is read back as the same double: "0.1", "1e22", "65536".
 * Of a few powers of two, whose neighbour below is the nearer one, it has a digit more, 17. value
 * is finite; the locale has a decimal point. text: room for HU_DECIMAL_BYTES. Gives text. Any
 * decimal of 15 digits or fewer stands for itself (IEEE 754-2019, 5.12.2), so that %.15g is the
 * shortest if it reads back; not so below the normal numbers. Proof:
 * tests/unit/base_decimal_test.c. */
const char *hu_decimal_text(double value, char *text);

/* Six digits, or "2^20" of a power of two that has more: what a loss is multiplied with. text: room
 * for HU_DECIMAL_BYTES. Gives text. Proof: tests/unit/base_decimal_test.c. */
const char *hu_scale_text(double value, char *text);

/* A finite number: |x| = significand 2^(exponent - 63). The significand has its top bit, or is 0.
 * What lies below its last bit made that bit 1 (round to odd), so that rounding it to 62 bits or
 * fewer, in any mode, is rounding x itself once. Source: Boldo, Melquiond, "Emulation of FMA and
 * correctly rounded sums", 2008. */
typedef struct hu_wide {
    bool is_negative;
    int exponent; /* -HU_WIDE_EXPONENT..HU_WIDE_EXPONENT */
    uint64_t significand;
} hu_wide;

/* Numbers beyond 2^+-HU_WIDE_EXPONENT are taken for these powers: every format ends long before. */
enum { HU_WIDE_EXPONENT = 4096 };

/* The whole text as a finite number: decimal or hexadecimal, as C writes it, with a point in every
 * locale ("-1.5e-3", "0x1.8p-4"). False if it is none. Proof: tests/unit/base_decimal_test.c. */
bool hu_wide_read(const char *text, hu_wide *number);

/* Whether a text is a number but for the comma where its point should be ("0,2"); then point
 * [HU_DECIMAL_BYTES] is it with a point, for messages. False for texts that do not fit there. */
bool hu_decimal_has_comma(const char *text, char *point);

#endif
