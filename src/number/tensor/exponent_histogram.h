/* tensor/exponent_histogram.h - exponent histograms, and what a number format would lose of them.
 */
#ifndef HU_TENSOR_EXPONENT_HISTOGRAM_H
#define HU_TENSOR_EXPONENT_HISTOGRAM_H
#include <stdint.h>

#include <halfulp/format.h>
#include <halfulp/histogram.h>

#include "tensor/quantizer.h"

/* ---- exponents ---- */

/* An exponent histogram as it stands in a file, and what of it a number
 * format would lose. */

/* Bin i counts the numbers x with floor(log2 |x|) = first + i. */
typedef struct hu_exponents {
    uint64_t elements, zero, nonfinite; /* elements: all of them, these two included */
    double largest; /* finite magnitude; 0: there is none, or it was not recorded */
    int32_t first;
    uint32_t count;
    uint64_t *bin; /* [count] */
} hu_exponents;

/* What rounding these numbers, times 2^shift, to the format would lose; infinities and NaN are in
 * overflow. elements = 0: all zero. */
hu_lost hu_exponents_lost(const hu_exponents *exponents, const hu_format *format, int32_t shift);

/* Share of all elements that are finite and beyond the format's largest number: of infinities and
 * NaN the format is not the cause. */
double hu_exponents_overflowed(const hu_exponents *exponents, const hu_lost *lost);

/* Shares of the sum of squares of all finite numbers that the rounding errors of lost ones are: of
 * numbers that saturate at the largest finite one, and of numbers that become zero. Bins are taken
 * to be spread evenly over their binades. */
typedef struct hu_lost_squares {
    double overflow, underflow;
} hu_lost_squares;
hu_lost_squares hu_exponents_lost_squares(const hu_exponents *exponents, const hu_format *format);

/* Exponents of the largest and the smallest magnitude, HU_NO_EXPONENT if there is none. */
int32_t hu_exponents_top(const hu_exponents *exponents);
int32_t hu_exponents_bottom(const hu_exponents *exponents);

/* log2 of the largest power of two S with S * |x| below the format's largest finite number, for
 * numbers whose largest has the exponent top. The exponent tells it but where this number lies in
 * the last 2^-man_bits of its binade: then it is one less. */
int32_t hu_exponents_scale(int32_t top, const hu_format *format);

/* log2 of the largest power of two S with S x largest < most; both are positive and finite. */
int32_t hu_scale_below(double largest, double most);

/* ---- rounding error ---- */

/* How large the rounding errors of numbers are of which only an exponent
 * histogram is known. */

/* The squares of all errors that rounding these numbers, times 2^shift, to nearest makes, over the
 * squares of the numbers: 0 (nothing is lost) to 1 (all is lost, or saturates far below).
 *
 * Bins are taken to be spread evenly over their binades, errors evenly over half a step to both
 * sides. Floats: steps of the mantissa, of subnormals, what becomes zero, what saturates. With a
 * scale that follows the tensor the largest number is moved to the format's largest exponent.
 * Block formats are taken as their element format with one such scale for the whole tensor: a bound
 * from above, as every block has its own. Uniform integers: one step over the range of both signs,
 * errors at most the numbers themselves. 0 for a quantizer that does not round, and where all
 * numbers are zero.
 * Proof: tests/unit/tensor_rounding_error_test.c, against rounded random numbers. */
double hu_rounding_error(const hu_exponents *exponents, const hu_quantizer *quantizer,
                         int32_t shift);

#endif
