/* train/check_start.h - a start without random numbers: every element of every parameter is a
 * function of the parameter's name and of the element's index, so that any other program can begin
 * with the same bits.
 *
 * With t = number i of the name (base/rng.h), element i, row-major in torch's shape, is
 *   1 + t/16      weights of norms,
 *   t/8           tables: names that are or end in pos, cls,
 *   t/16          other parameters of one extent,
 *   t 2^-floor((bits(fan) - 1) / 2)   all others; bits: length in binary
 *
 * where fan are the elements of a row, of a transposed convolution those of first extent x kernel /
 * stride^2. All are exact in float32 but the first, which is rounded once.
 */
#ifndef HU_TRAIN_CHECK_START_H
#define HU_TRAIN_CHECK_START_H
#include "graph/graph.h"

/* x [elements] of parameter v, whose shape in torch is shape. */
void hu_check_start_fill(const hu_graph *graph, hu_value_id v, const hu_shape *shape,
                         const char *salt, float *x);

/* The salt of "check" or "check:SALT", NULL of any other text, which is a file. Borrowed from init.
 */
const char *hu_check_salt(const char *init);

#endif
