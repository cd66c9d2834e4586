/* op/elementary.h - exp and log from one source, without libm: the same bits on every machine. */
#ifndef HU_OP_ELEMENTARY_H
#define HU_OP_ELEMENTARY_H

/* e^x, error below 2 ulp of double; 0 below -745.2, infinity above 709.8, NaN for NaN. */
double hu_exp(double x);

/* Natural logarithm, error below 2 ulp of double; -infinity for 0, NaN for x < 0 and NaN. */
double hu_log(double x);

#endif
