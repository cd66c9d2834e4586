/* tensor/rounding_error.h - how large the rounding errors of numbers are of which only an exponent
 * histogram is known. */
#ifndef HU_TENSOR_ROUNDING_ERROR_H
#define HU_TENSOR_ROUNDING_ERROR_H
#include "tensor/exponents.h"
#include "tensor/quantizer.h"

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
