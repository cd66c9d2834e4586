/* diagnose/accumulators.h - the accumulators of a run's products, as its configuration says. */
#ifndef HU_EXPLAIN_ACCUMULATORS_H
#define HU_EXPLAIN_ACCUMULATORS_H
#include <halfulp/gemm.h>

#include "base/keys.h"
#include "graph/tensor_order.h"

enum { HU_ADDER_BYTES = 96 };

/* A product with an accumulator of its own. */
typedef struct hu_adder {
    hu_made_by product;
    hu_accumulator accumulator;
    char name[HU_TENSOR_NAME_BYTES]; /* "conv1.forward" */
    char text[HU_ADDER_BYTES];       /* "fmac8:1/6/9" */
} hu_adder;

typedef struct hu_adders {
    hu_adder *adder; /* [count] */
    uint32_t count;
} hu_adders;

/* Reads the keys accumulator.*; config NULL, or keys that are none: there are no adders. Owner
 * frees with hu_adders_free, after a failure too. HU_ERR_MEMORY. */
hu_status hu_adders_read(const hu_keys *config, const hu_tensor_order *walk, hu_adders *adders);
void hu_adders_free(hu_adders *adders);

/* Borrowed: from adders. NULL: none makes the tensor with an accumulator of its own. Of several the
 * first. */
const hu_adder *hu_adder_named(const hu_adders *adders, const char *product);

/* Whether its sums may become infinite or NaN, though they would not in float32; and whether they
 * may become or stay zero. */
bool hu_adder_may_exceed(const hu_accumulator *accumulator);
bool hu_adder_may_vanish(const hu_accumulator *accumulator);

#endif
