/* comm/expected.h - what a way of sending would lose of gradients that are known by their exponents
 * alone.
 *
 * A scale follows the largest number; within its binade that is taken to lie in the middle, so that
 * a scale may be off by one binade. Scales of pieces (aps2) are taken as one of the whole tensor,
 * which loses more.
 */
#ifndef HU_COMM_EXPECTED_H
#define HU_COMM_EXPECTED_H
#include "comm/plan.h"
#include "tensor/exponent_histogram.h"

typedef struct hu_comm_expected {
    int32_t k;     /* numbers travel as x 2^-k */
    hu_lost lost;  /* of the roundings of gradients, not of their sums */
    bool sums_fit; /* the sum of all workers' largest numbers does not leave the range */
} hu_comm_expected;

/* Of options: workers, scaling, constant and format. exponents: those of all workers' gradients. */
hu_comm_expected hu_comm_expect(const hu_comm_options *options, const hu_exponents *exponents);

#endif
