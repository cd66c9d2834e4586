/* journal/largest.h - the largest gradients of a recorded run, and the loss scales that they leave
 * room for. */
#ifndef HU_JOURNAL_LARGEST_H
#define HU_JOURNAL_LARGEST_H
#include "graph/tensor_order.h"
#include "journal/records.h"

/* The largest magnitude of gradients, of the unscaled loss. */
typedef struct hu_largest {
    double magnitude; /* 0: none is recorded */
    bool is_bound;    /* only its exponent is known: it lies below */
    int64_t step;     /* of counts: the last step of their row */
} hu_largest;

enum { HU_LARGEST_ACT, HU_LARGEST_PARAMETER, HU_LARGEST_KINDS };

/* Of all steps that were recorded and not skipped: gradients of activations and of parameters.
 * Tensors that are rounded are counted in every step, by exponents; histograms tell magnitudes. */
void hu_history_largest(const hu_history *history, const hu_walk *walk,
                        hu_largest largest[HU_LARGEST_KINDS]);

/* The larger of both. */
hu_largest hu_largest_of_all(const hu_largest largest[HU_LARGEST_KINDS]);

#endif
