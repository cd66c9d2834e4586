/* kernel/elementary/lanes.h - exp, tanh, log and log1p of base/elementary.c for loops that become
 * vectors: every lane goes through the same operations in the same order, choices are selections.
 * Where the arguments are those that are named, the bits are those of hu_exp, hu_tanh, hu_log and
 * hu_log1p. For bodies only: names without prefix. */
#ifndef HU_KERNEL_ELEMENTARY_LANES_H
#define HU_KERNEL_ELEMENTARY_LANES_H
#include <math.h>

#include "base/bits.h"
#include "base/elementary.h"
#include "base/erf_terms.h"
#include "kernel/lane.h"

/* Added to a number below 2^51, leaves its nearest whole number in the last bits. */
#define WHOLE 0x1.8p52

/* A number below 2^52 as a double, by the bits. */
HU_INLINE double double_of(uint64_t n) {
    return hu_f64_of_bits(n | UINT64_C(0x433) << 52) - 0x1p52;
}

/* 2^(n - 1023), 0 < n < 2047. */
HU_INLINE double power_of_bits(uint64_t n) {
    return hu_f64_of_bits(n << 52);
}

/* x = k ln 2 + r; gives r, and k in the last bits of *whole. */
HU_INLINE double rest_of(double x, double *whole) {
    *whole = x * 0x1.71547652b82fep+0 + WHOLE;
    double k = *whole - WHOLE;
    return (x - k * HU_LN2_HIGH) - k * HU_LN2_LOW;
}

/* e^r - 1, |r| <= ln(2)/2. */
HU_INLINE double expm1_near(double r) {
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    return r + r * r * p;
}

HU_INLINE double reduced_of(double x, double *whole) {
    return expm1_near(rest_of(x, whole));
}

/* y 2^k, the power of two in two factors, of which the first rounds nothing: that another cut is
 * taken than in base/elementary.c does not show. */
HU_INLINE double scaled_of(double y, double whole) {
    uint64_t k = hu_f64_bits(whole) - hu_f64_bits(WHOLE) + 2048, half = k >> 1;
    return y * power_of_bits(half - 1) * power_of_bits(k - half - 1);
}

/* Of any x. */
HU_INLINE double exp_of(double x) {
    double whole, y = 1.0 + reduced_of(x, &whole);
    y = scaled_of(y, whole);
    y = x > 709.8 ? (double)INFINITY : y;
    y = x < -745.2 ? 0.0 : y;
    return x != x ? x : y;
}

/* Of |x| <= 700: y 2^k is a normal number, the product is exact. */
HU_INLINE double exp_of_near(double x) {
    double whole, y = 1.0 + reduced_of(x, &whole);
    return hu_f64_of_bits(hu_f64_bits(y) + (hu_f64_bits(whole) << 52));
}

/* Of any x; e = e^2a - 1 is needed for a = |x| up to 20 alone. */
HU_INLINE double tanh_of(double x) {
    double whole, a = x < 0 ? -x : x, part = reduced_of(2.0 * a, &whole);
    uint64_t k = hu_f64_bits(whole) - hu_f64_bits(WHOLE);
    double e = power_of_bits(1023 + k) * (part + (1.0 - power_of_bits(1023 - k)));
    e = k == 0 ? part : e;
    double y = e / (e + 2.0);
    y = a > 20.0 ? 1.0 : y;
    y = x < 0 ? -y : y > 0 ? y : x;
    return x != x ? x : y;
}

/* erf of |x| <= 1/2 and erfc of 1/2 <= a <= 28, as in base/elementary.c. */
HU_INLINE double erf_near(double x) {
    double z = x * x, p = hu_erf_terms[HU_ERF_TERMS - 1];
    HU_UNROLL
    for (int i = HU_ERF_TERMS - 2; i >= 0; i--) p = p * z + hu_erf_terms[i];
    return x + x * p;
}

HU_INLINE double erfc_far(double a) {
    enum { HALF = HU_ERFC_TERMS / 2 };
    double t = (a - 4.0) / (a + 4.0), g = hu_erfc_terms[HU_ERFC_TERMS - 1], whole;
    HU_UNROLL
    for (int i = HU_ERFC_TERMS - 2; i >= HALF; i--) g = g * t + hu_erfc_terms[i];
    HU_UNROLL
    for (int i = HALF - 1; i >= 0; i--) g = g * t + hu_erfc_terms[i];
    double first = hu_f64_of_bits(hu_f64_bits(a) & ~UINT64_C(0x7ffffff));
    double part = expm1_near(rest_of(-(first * first), &whole) - (a - first) * (a + first));
    double y = HU_ERFC_HEAD + (g + part * (HU_ERFC_HEAD + g));
    return scaled_of(y / (1.0 + 2.0 * a), whole);
}

/* Of any x. */
HU_INLINE double erfc_of(double x) {
    double a = x < 0 ? -x : x, far = erfc_far(a < 28.0 ? a : 28.0);
    far = x < 0 ? 2.0 - far : far;
    double y = a > 0.5 ? far : 1.0 - erf_near(x);
    return x != x ? x : y;
}

/* Of normal x > 0. */
HU_INLINE double log_of_normal(double x) {
    uint64_t bits = hu_f64_bits(x);
    double m = hu_f64_of_bits((bits & 0xfffffffffffffu) | UINT64_C(1023) << 52);
    double k = double_of(bits >> 52) - 1023.0;
    int is_upper = m > 0x1.6a09e667f3bcdp+0;
    m = is_upper ? m * 0.5 : m;
    k = is_upper ? k + 1.0 : k;
    double f = m - 1.0, s = f / (m + 1.0), z = s * s, p = 0;
    HU_UNROLL
    /* The series of atanh: log m = 2 (s + s^3/3 + s^5/5 + ...) with s = (m - 1) / (m + 1). */
    for (int i = 21; i >= 3; i -= 2) p = p * z + 1.0 / (double)i;
    double half_square = 0.5 * f * f;
    double tail = s * (half_square + 2.0 * z * p);
    return k * HU_LN2_HIGH + ((tail + k * HU_LN2_LOW - half_square) + f);
}

/* Of normal x > 0, infinity and NaN. */
HU_INLINE double log_of(double x) {
    double y = log_of_normal(x);
    y = x > 0x1.fffffffffffffp+1023 ? x : y;
    return x != x ? (double)NAN : y;
}

/* Of 0 <= x <= 1 and NaN. */
HU_INLINE double log1p_of(double x) {
    double u = 1.0 + x, lost = x < 1 ? x - (u - 1.0) : 1.0 - (u - x);
    double y = log_of_normal(u) + lost / u;
    return x != x ? (double)NAN : y;
}

#endif
