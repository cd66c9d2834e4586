/* diagnose/expected.h - what rounding recorded numbers another way would lose. */
#ifndef HU_EXPLAIN_EXPECTED_H
#define HU_EXPLAIN_EXPECTED_H
#include "tensor/exponent_histogram.h"
#include "tensor/quantizer.h"

/* Of the nonzero finite numbers. Numbers of a binade are taken as spread evenly over it. */
typedef struct hu_rounding_loss {
    double vanished; /* share that becomes zero */
    double exceeded; /* share beyond the largest finite number */
    double error;  /* root of the squared rounding errors over the squared numbers, 1: all is lost.
                      Numbers that exceed count with what saturation would cut off */
    bool is_fatal; /* some become infinities or NaN */
} hu_rounding_loss;

/* Rounds numbers times 2^shift by the quantizer, without storing it.
 *
 *   exponents  infinities and NaN among them are passed over: whoever made them is asked
 *   headroom   binades: a largest number within so many of the format's end counts as beyond it
 *              where that makes an infinity; 0: only what is beyond
 *
 * A scale from maxima is that of the tensor itself; that of a block is taken to be near its
 * numbers; uniform integers reach from minus to plus the largest number. Numbers that are not
 * rounded lose nothing. Proof: tests/unit/diagnose_expected_test.c. */
hu_rounding_loss hu_rounding_loss_expect(const hu_exponents *exponents,
                                         const hu_quantizer *quantizer, int32_t shift,
                                         int32_t headroom);

#endif
