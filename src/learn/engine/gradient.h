/* engine/gradient.h - gradients in a visit: contributions are read, asked for or added, and nodes
 * run backward. */
#ifndef HU_ENGINE_GRADIENT_H
#define HU_ENGINE_GRADIENT_H
#include "engine/chunk.h"

/* Rows of a gradient. */
typedef struct hu_gradient_rows {
    const float *rows; /* Borrowed: valid during the visit */
    bool is_own;       /* the rows lie in scratch that nobody else reads */
} hu_gradient_rows;

/* Sum of the contributions to the gradient of a value, not rounded. Borrowed: valid during the
 * visit. */
const float *hu_chunk_gradient_sum(hu_chunk *visit, hu_value_id v);

/* The gradient of output v of node n, rounded. tally: of the sum, NULL if its rounding is counted
 * elsewhere. */
hu_gradient_rows hu_chunk_gradient(hu_chunk *visit, uint32_t n, hu_value_id v, hu_tally *tally);

/* Points a node's call at the partial gradients of its parameters that the visit writes. */
void hu_chunk_point_dparams(hu_chunk *visit, uint32_t n, hu_op_call *call);

/* Runs a node of this region backward. */
void hu_chunk_run_backward(hu_chunk *visit, uint32_t n);

#endif
