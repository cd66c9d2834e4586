/* kernel/gemm/exact.h - sums and products of float32 numbers without rounding, by integers alone.
 */
#ifndef HU_KERNEL_GEMM_EXACT_H
#define HU_KERNEL_GEMM_EXACT_H
#include <stdbool.h>
#include <stdint.h>

#include "format/value.h"

/* (-1)^is_negative significand 2^exponent. A sum may carry a last bit that stands for everything
 * below it ("sticky"): it lies below the last place of every format, see hu_exact_sum. */
typedef struct hu_exact {
    uint64_t significand; /* < 2^63 */
    int exponent;
    bool is_negative; /* the sign of a zero too */
} hu_exact;

/* x must be finite. significand < 2^24. */
static inline hu_exact hu_exact_of(float x) {
    uint32_t bits = hu_f32_bits(x), field = bits >> 23 & 0xFFu, fraction = bits & 0x7FFFFFu;
    return (hu_exact){.significand = field ? fraction | 1u << 23 : fraction,
                      .exponent = field ? (int)field - 150 : -149,
                      .is_negative = bits >> 31 != 0};
}

/* Of two numbers of hu_exact_of: exact, significand < 2^48. */
static inline hu_exact hu_exact_product(hu_exact x, hu_exact y) {
    return (hu_exact){.significand = x.significand * y.significand,
                      .exponent = x.exponent + y.exponent,
                      .is_negative = x.is_negative != y.is_negative};
}

/* Same value, 2^61 <= significand < 2^62; not zero. */
static inline hu_exact hu_exact_normalised(hu_exact x) {
    int up = __builtin_clzll(x.significand) - 2;
    x.significand <<= up;
    x.exponent -= up;
    return x;
}

/* Of terms with significands < 2^48 (not sums). Bits of the smaller term that do not fit are
 * replaced by one sticky bit. That happens only where the terms are at least 15 binades apart, so
 * the sum keeps 60 significant bits or more and the sticky bit is the last of them: every rounding
 * to at most 24 bits sees the exact value's side of each midpoint. Zeros: -0 only of two -0. */
static inline hu_exact hu_exact_sum(hu_exact x, hu_exact y) {
    if (x.significand == 0 && y.significand == 0) {
        x.is_negative = x.is_negative && y.is_negative;
        return x;
    }
    if (x.significand == 0) return y;
    if (y.significand == 0) return x;
    x = hu_exact_normalised(x);
    y = hu_exact_normalised(y);
    if (x.exponent < y.exponent) {
        hu_exact swapped = x;
        x = y;
        y = swapped;
    }
    /* y moves down to x's exponent. What falls off its end leaves the sticky bit. */
    int apart = x.exponent - y.exponent;
    uint64_t kept = apart < 63 ? y.significand >> apart : 0;
    bool is_exact = apart < 63 && kept << apart == y.significand;
    y.significand = kept | (is_exact ? 0 : 1);
    if (x.is_negative == y.is_negative) {
        x.significand += y.significand;
    } else if (x.significand >= y.significand) {
        x.significand -= y.significand;
        if (x.significand == 0) x.is_negative = false;
    } else {
        x.significand = y.significand - x.significand;
        x.is_negative = y.is_negative;
    }
    return x;
}

/* Magnitude code of the value rounded to nearest, ties to even, or toward zero, on the scale that
 * goes on beyond the format's largest finite code. Source: docs/reference/numerics/formats.md,
 * "Rounding". */
static inline uint64_t hu_exact_code_rounded(const hu_format *format, hu_exact x, bool is_cut) {
    int emin = hu_format_emin(format);
    if (x.significand == 0) return 0;
    int exponent = x.exponent + 63 - __builtin_clzll(x.significand);
    /* One unit of n is the quantum 2^(place - m): of x's own binade, or that of subnormals. */
    int place = exponent > emin ? exponent : emin;
    int man_bits = hu_format_grid_bits(format, exponent);
    int shift = place - man_bits - x.exponent;
    uint64_t n;
    if (shift <= 0) {
        n = x.significand << -shift;
    } else if (shift > 63) {
        n = 0;
    } else {
        uint64_t half = (uint64_t)1 << (shift - 1), rest = x.significand & (2 * half - 1);
        n = x.significand >> shift;
        if (!is_cut && (rest > half || (rest == half && (n & 1) != 0))) n++;
    }
    /* n has its leading one at bit m (subnormal: below), so the sum counts codes: a normal number
     * of exponent emin has the field 1, which is that one. */
    return ((uint64_t)(uint32_t)(place - emin) << format->man_bits) +
           (n << (format->man_bits - man_bits));
}

/* To nearest, ties to even. */
static inline uint64_t hu_exact_code(const hu_format *format, hu_exact x) {
    return hu_exact_code_rounded(format, x, false);
}

#endif
