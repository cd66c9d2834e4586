#include "base/elementary.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "base/bits.h"
#include "base/erf_terms.h"

/* 2^k for a normal result. */
static double power_of_two(int k) {
    return hu_f64_of_bits((uint64_t)(k + 1023) << 52);
}

/* y 2^k, in two steps: 2^k need not be normal. */
static double scaled(double y, double k) {
    int exponent = (int)k, half = exponent / 2;
    return y * power_of_two(half) * power_of_two(exponent - half);
}

/* x = k ln 2 + r, |r| <= ln(2)/2; gives r. */
static double reduced(double x, double *k) {
    const double round_to_integer = 0x1.8p52;
    *k = (x * 0x1.71547652b82fep+0 + round_to_integer) - round_to_integer;
    return (x - *k * HU_LN2_HIGH) - *k * HU_LN2_LOW;
}

/* e^r - 1: the Taylor polynomial of degree 13 leaves |r|^14/14! < 5e-18. */
static double expm1_series(double r) {
    static const double inverse_factorial[] = {
        1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0,
        1.0 / 362880.0,     1.0 / 40320.0,     1.0 / 5040.0,     1.0 / 720.0,
        1.0 / 120.0,        1.0 / 24.0,        1.0 / 6.0,        0.5};
    double p = inverse_factorial[0];
    for (int i = 1; i < 12; i++) p = p * r + inverse_factorial[i];
    return r + r * r * p;
}

/* e^x = 2^k * e^r. */
double hu_exp(double x) {
    double k;
    if (x != x) return x;
    if (x > 709.8) return (double)INFINITY;
    if (x < -745.2) return 0;
    double y = 1.0 + expm1_series(reduced(x, &k));
    return scaled(y, k);
}

/* 2^k (e^r - 1) + (2^k - 1), joined before the factor 2^k where that may be large. Beyond 40 the 1
 * is far below the last place. */
double hu_expm1(double x) {
    const double far = 40.0;
    double k;
    if (x > far || x < -far) return hu_exp(x) - 1.0;
    if (x != x || !(x < 0 || x > 0)) return x;
    double part = expm1_series(reduced(x, &k)), power = power_of_two((int)k);
    if (!(k < 0 || k > 0)) return part;
    return power * (part + (1.0 - 1.0 / power));
}

/* (e^2a - 1) / (e^2a + 1) of a = |x|. */
double hu_tanh(double x) {
    const double far = 20.0;
    if (x != x) return x;
    double a = x < 0 ? -x : x, e = hu_expm1(2.0 * a);
    double y = a > far ? 1.0 : e / (e + 2.0);
    return x < 0 ? -y : y > 0 ? y : x;
}

/* erf of |x| <= 1. */
static double erf_near(double x) {
    double z = x * x, p = hu_erf_terms[HU_ERF_TERMS - 1];
    for (int i = HU_ERF_TERMS - 2; i >= 0; i--) p = p * z + hu_erf_terms[i];
    return x + x * p;
}

/* erfc of x >= 1/2: e^(-x^2) times a function that is nearly 1 / (1 + 2 x). x^2 is found exactly,
 * as the square of the first half of x's digits and the rest. Beyond 28 the result is 0. */
static double erfc_far(double x) {
    double a = x < 28.0 ? x : 28.0, t = (a - 4.0) / (a + 4.0), k;
    double g = hu_erfc_terms[HU_ERFC_TERMS - 1];
    for (int i = HU_ERFC_TERMS - 2; i >= 0; i--) g = g * t + hu_erfc_terms[i];
    double first = hu_f64_of_bits(hu_f64_bits(a) & ~UINT64_C(0x7ffffff));
    double part = expm1_series(reduced(-(first * first), &k) - (a - first) * (a + first));
    double y = HU_ERFC_HEAD + (g + part * (HU_ERFC_HEAD + g));
    return scaled(y / (1.0 + 2.0 * a), k);
}

double hu_erf(double x) {
    if (x != x) return x;
    if (x >= -1.0 && x <= 1.0) return erf_near(x);
    return x < 0 ? erfc_far(-x) - 1.0 : 1.0 - erfc_far(x);
}

double hu_erfc(double x) {
    const double near = 0.5;
    if (x != x) return x;
    if (x > near) return erfc_far(x);
    return x < -near ? 2.0 - erfc_far(-x) : 1.0 - erf_near(x);
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
    uint64_t bits = hu_f64_bits(x);
    k += (int)(bits >> 52) - 1023;
    double m = hu_f64_of_bits((bits & 0xfffffffffffffu) | UINT64_C(1023) << 52);
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
    return (double)k * HU_LN2_HIGH + ((tail + (double)k * HU_LN2_LOW - half_square) + f);
}

/* u = 1 + x is rounded; what it has lost, (1 + x) - u, is found exactly and joins by the derivative
 * of log at u. */
double hu_log1p(double x) {
    double u = 1.0 + x;
    if (!(u > 0 && u <= DBL_MAX)) return hu_log(u);
    double lost = x < 1 ? x - (u - 1.0) : 1.0 - (u - x);
    return hu_log(u) + lost / u;
}

/* True for whole numbers; *odd: it is an odd one. From 2^53 on all are even. */
static bool is_whole(double p, bool *odd) {
    const double most = 0x1p53;
    double size = p < 0 ? -p : p;
    *odd = size < most && size - 2.0 * floor(0.5 * size) == 1.0;
    return floor(size) == size;
}

/* |p| by multiplication and roots; false: not so. */
static bool pow_in_steps(double x, double size, double *y) {
    if (size == 0.5)
        *y = sqrt(x);
    else if (size == 1.0)
        *y = x;
    else if (size == 2.0)
        *y = x * x;
    else if (size == 3.0)
        *y = x * x * x;
    else
        return false;
    return true;
}

double hu_pow(double x, double p) {
    bool is_odd, is_of_whole = is_whole(p, &is_odd);
    double y;
    if (x != x) return x;
    if (p == 0) return 1.0;
    if (pow_in_steps(x, p < 0 ? -p : p, &y)) return p < 0 ? 1.0 / y : y;
    if (x < 0 && !isinf(x) && !is_of_whole) return (double)NAN;
    y = hu_exp(p * hu_log(x < 0 ? -x : x));
    return is_odd && signbit(x) ? -y : y;
}

/* Taylor series of cos and sin on [0, pi/4]: what is left out is below (pi/4)^18/18! < 3e-18. */
static double cos_series(double x) {
    double z = x * x, p = 0;
    for (int k = 16; k >= 4; k -= 2) p = (p + 1) * -z / (double)(k * (k - 1));
    double half = 0.5 * z;
    return 1.0 - (half + half * p);
}

static double sin_series(double x) {
    double z = x * x, p = 0;
    for (int k = 17; k >= 3; k -= 2) p = (p + 1) * -z / (double)(k * (k - 1));
    return x + x * p;
}

/* Of x = k pi/2 + r, |r| <= pi/4, with pi/2 in three parts, so that k times the first two is exact:
 * sin(r) where quarter + k is even, cos(r) where it is odd, with the sign of that quarter of a
 * turn. */
static double wave(double x, int64_t quarter) {
    const double round_to_integer = 0x1.8p52, two_by_pi = 0x1.45f306dc9c883p-1;
    const double first = 0x1.921fb544p+0, second = 0x1.0b4611a6p-34, third = 0x1.3198a2e037073p-69;
    if (!(x >= -HU_ANGLE_MOST && x <= HU_ANGLE_MOST)) return (double)NAN;
    double k = (x * two_by_pi + round_to_integer) - round_to_integer;
    double r = ((x - k * first) - k * second) - k * third;
    quarter += (int64_t)k;
    double y = quarter & 1 ? cos_series(r) : sin_series(r);
    return quarter & 2 ? -y : y;
}

double hu_sin(double x) {
    return x < 0 || x > 0 ? wave(x, 0) : x; /* the sign of 0, and NaN */
}

double hu_cos(double x) {
    return wave(x, 1);
}

double hu_cos_turns(uint32_t turns) {
    const uint32_t quarter = 1u << 30;
    uint32_t folded = turns > 2 * quarter ? 0u - turns : turns; /* cos is even */
    int is_negative = folded > quarter;
    if (is_negative) folded = 2 * quarter - folded;
    const double pi_by_2_31 = 0x1.921fb54442d18p-30;
    double y = folded <= quarter / 2 ? cos_series((double)folded * pi_by_2_31)
                                     : sin_series((double)(quarter - folded) * pi_by_2_31);
    return is_negative ? -y : y;
}

/* The same in quarters of a turn: four times part / whole of them. */
double hu_cos_part(uint64_t part, uint64_t whole) {
    const double half_pi = 0x1.921fb54442d18p+0;
    uint64_t folded = 2 * part > whole ? whole - part : part; /* cos is even */
    uint64_t quarters = 4 * folded;
    int is_negative = quarters > whole;
    if (is_negative) quarters = 2 * whole - quarters;
    double y = 2 * quarters <= whole
                   ? cos_series(half_pi * ((double)quarters / (double)whole))
                   : sin_series(half_pi * ((double)(whole - quarters) / (double)whole));
    return is_negative ? -y : y;
}
