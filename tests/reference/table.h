/* tests/reference/table.h - rounding to posits, takums and HiFloat8 by integers, each by the bits
 * of its codes: no list of numbers, no boundaries. */
#ifndef REFERENCE_TABLE_H
#define REFERENCE_TABLE_H
#include <stdint.h>

/* Code of n bits, 3..16, of a float32 to nearest: the string of bits is cut after n of them, ties
 * to the even code; nothing but 0 becomes 0, and nothing finite NaR. */
uint32_t reference_posit(int n, int es, float x);
uint32_t reference_takum(int n, float x); /* linear */

/* The same of HiFloat8, ties away from 0. */
uint32_t reference_hif8(float x);

/* The number of a code; NaN for NaR. Doubles hold all of them. */
double reference_posit_value(int n, int es, uint32_t code);
double reference_takum_value(int n, int is_log, uint32_t code);
double reference_hif8_value(uint32_t code);

#endif
