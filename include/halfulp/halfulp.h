/* halfulp/halfulp.h - all public headers of the library.
 *
 *   api.h       version, and the mark of what is exported
 *   status.h    what every fallible call returns, and hu_last_error
 *   random.h    names of random sequences
 *   format.h    number formats: parsing, printing, limits, the reference rounding, codes
 *   round.h     arrays: rounding with counters, packing, unpacking
 *   histogram.h arrays: their exponents, and what formats would lose of them
 *   quantize.h  arrays: formats with scales, block formats, uniform integers
 *   gemm.h      matrix products with a chosen accumulator
 *   allreduce.h sums of gradients over processes, in narrow formats
 *   plan.h      resolved plans: how every tensor of a training is rounded
 *   tensor.h    shapes
 *   data.h      data sets and loaders
 *   train.h     training a model
 *   why.h       where the numbers of a run died
 *
 * C17 and C++17. Link with `pkg-config --cflags --libs halfulp`. The library never prints, exits or
 * aborts on input. A pointer that is NULL where its declaration does not allow it, a negative count
 * and one that is too large are HU_ERR_ARGUMENT, "FUNCTION: ARGUMENT is ..."; functions that return
 * no status then give 0, NULL, false, -1 where an index is asked for, NaN where a rounded number
 * is, or do nothing. What cannot be told is left to the caller: that arrays have as many elements
 * as their declaration says, that texts end with a zero, that handles are still open.
 */
#ifndef HALFULP_HALFULP_H
#define HALFULP_HALFULP_H
#include <halfulp/allreduce.h>
#include <halfulp/api.h>
#include <halfulp/data.h>
#include <halfulp/format.h>
#include <halfulp/gemm.h>
#include <halfulp/histogram.h>
#include <halfulp/plan.h>
#include <halfulp/quantize.h>
#include <halfulp/random.h>
#include <halfulp/round.h>
#include <halfulp/status.h>
#include <halfulp/tensor.h>
#include <halfulp/train.h>
#include <halfulp/why.h>

#endif
