/* base/elementary.h - exp, expm1, log, log1p, pow, tanh, erf, sin and cos from one source, without
 * libm: the same bits on every machine, whatever instruction set its libm picks. */
#ifndef HU_BASE_ELEMENTARY_H
#define HU_BASE_ELEMENTARY_H
#include <stdint.h>

/* ln 2 = HIGH + LOW; HIGH has 21 trailing zero bits, so k * HIGH is exact for |k| < 2^21. */
#define HU_LN2_HIGH 0x1.62e42fee00000p-1
#define HU_LN2_LOW 0x1.a39ef35793c76p-33

/* e^x, error below 2 ulp of double; 0 below -745.2, infinity above 709.8, NaN for NaN. */
double hu_exp(double x);

/* e^x - 1, error below 3 ulp of double also where x is small; -1 below -745.2, infinity above
 * 709.8, NaN for NaN; the sign of 0 stays. */
double hu_expm1(double x);

/* Hyperbolic tangent, error below 4 ulp of double; +-1 beyond 20, NaN for NaN, odd. */
double hu_tanh(double x);

/* Error function 2/sqrt(pi) (integral of e^(-t^2) from 0 to x), error below 2 ulp of double; +-1
 * beyond 6, NaN for NaN, odd. */
double hu_erf(double x);

/* 1 - erf(x), error below 3 ulp of double also where x is large, subnormal results included; 0
 * above 27.3, 2 below -6, NaN for NaN. */
double hu_erfc(double x);

/* Natural logarithm, error below 2 ulp of double; -infinity for 0, NaN for x < 0 and NaN. */
double hu_log(double x);

/* x^p of a finite p: 1 for 0; x, x x, (x x) x and 1 / of them for the whole p from -3 to 3, sqrt(x)
 * and 1 / sqrt(x) for +-1/2, each operation rounded; else e^(p log|x|), relative error below
 * 2^-51 (2 + |p log x|), which is negative where x is and p is odd. NaN for NaN, and for finite
 * x < 0 where p is no whole number; 0 and infinity as C's pow. */
double hu_pow(double x, double p);

/* log(1 + x), error below 3 ulp of double also where x is small; -infinity for -1, NaN for x < -1
 * and NaN. */
double hu_log1p(double x);

/* sin and cos of x up to HU_ANGLE_MOST on both sides, NaN beyond; error below 3 ulp of double. */
#define HU_ANGLE_MOST 0x1p20
double hu_sin(double x);
double hu_cos(double x);

/* cos(2 pi turns / 2^32), error below 2 ulp of double; exact at multiples of a quarter turn. */
double hu_cos_turns(uint32_t turns);

/* cos(2 pi part / whole), 0 <= part < whole <= 2^32, error below 3 ulp of double; exact at
 * multiples of a quarter turn. */
double hu_cos_part(uint64_t part, uint64_t whole);

/* One row of logits in double: what everyone shares who takes a softmax. */

/* log softmax(x)_c = x_c - most - log_sum. Subtracting the largest logit keeps exp from
 * overflowing. */
typedef struct hu_softmax_row {
    double most, log_sum;
} hu_softmax_row;

/* x [classes]; a NaN makes both numbers NaN. */
static inline hu_softmax_row hu_softmax_row_of(int64_t classes, const float *x) {
    double most = (double)x[0], sum = 0;
    for (int64_t c = 1; c < classes; c++)
        if ((double)x[c] > most || x[c] != x[c]) most = (double)x[c];
    for (int64_t c = 0; c < classes; c++) sum += hu_exp((double)x[c] - most);
    return (hu_softmax_row){most, hu_log(sum)};
}

static inline double hu_log_softmax(hu_softmax_row row, float x) {
    return (double)x - row.most - row.log_sum;
}

/* softmax(x)_c of a row's logit x_c */
static inline double hu_softmax(hu_softmax_row row, float x) {
    return hu_exp(hu_log_softmax(row, x));
}

#endif
