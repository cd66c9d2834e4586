#include "op/elementary.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* ln 2 = HIGH + LOW; HIGH has 21 trailing zero bits, so k * HIGH is exact for |k| < 2^21. */
static const double LN2_HIGH = 0x1.62e42fee00000p-1, LN2_LOW = 0x1.a39ef35793c76p-33;

static double from_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint64_t to_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* 2^k for a normal result. */
static double power_of_two(int k) {
    return from_bits((uint64_t)(k + 1023) << 52);
}

/* e^x = 2^k * e^r, |r| <= ln(2)/2; the Taylor polynomial of degree 13 leaves |r|^14/14! < 5e-18. */
double hu_exp(double x) {
    static const double inverse_factorial[] = {
        1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0,
        1.0 / 362880.0,     1.0 / 40320.0,     1.0 / 5040.0,     1.0 / 720.0,
        1.0 / 120.0,        1.0 / 24.0,        1.0 / 6.0,        0.5};
    const double round_to_integer = 0x1.8p52;
    if (x != x) return x;
    if (x > 709.8) return (double)INFINITY;
    if (x < -745.2) return 0;
    double k = (x * 0x1.71547652b82fep+0 + round_to_integer) - round_to_integer;
    double r = (x - k * LN2_HIGH) - k * LN2_LOW;
    double p = inverse_factorial[0];
    for (int i = 1; i < 12; i++) p = p * r + inverse_factorial[i];
    double y = 1.0 + (r + r * r * p);
    int exponent = (int)k, half = exponent / 2;
    return y * power_of_two(half) * power_of_two(exponent - half);
}

/* x = 2^k * m with m in [sqrt(1/2), sqrt(2)); log m = 2 artanh(s), s = (m-1)/(m+1), |s| < 0.1716:
 * the odd series up to s^21 leaves less than 2e-19. */
double hu_log(double x) {
    if (x != x || x < 0) return (double)NAN;
    if (x <= 0) return -(double)INFINITY;
    if (x > DBL_MAX) return x;
    int k = 0;
    if (x < DBL_MIN) {
        x *= 0x1p54;
        k = -54;
    }
    uint64_t bits = to_bits(x);
    k += (int)(bits >> 52) - 1023;
    double m = from_bits((bits & 0xfffffffffffffu) | UINT64_C(1023) << 52);
    if (m > 0x1.6a09e667f3bcdp+0) {
        m *= 0.5;
        k++;
    }
    double f = m - 1.0, s = f / (m + 1.0), z = s * s, p = 0;
    for (int i = 21; i >= 3; i -= 2) p = p * z + 1.0 / (double)i;
    /* 2 artanh(s) = f - f^2/2 + s * (f^2/2 + 2 z p z...) written so that the leading term f is
     * exact */
    double half_square = 0.5 * f * f;
    double tail = s * (half_square + 2.0 * z * p);
    return (double)k * LN2_HIGH + ((tail + (double)k * LN2_LOW - half_square) + f);
}
