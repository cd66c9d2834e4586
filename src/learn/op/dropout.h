/* op/dropout.h - attributes of dropout and drop_path. */
#ifndef HU_OP_DROPOUT_H
#define HU_OP_DROPOUT_H
#include "base/rng.h"
#include "op/op.h"

/* ---- noise ---- */

/* Random words of a node: element i of sample s of the batch takes word s elements + i
 * of the node's key, so that chunks do not matter. In check runs it takes word (samples before)
 * elements + i of the node's name, or of the name and "test" outside of training. */

/* Where the numbers of a call come from. */
typedef struct hu_noise {
    const hu_op_call *call;
    uint64_t first; /* number of the call's first element */
    uint32_t hash;  /* of the formula */
} hu_noise;

/* elements: of a sample. */
static inline hu_noise hu_noise_of(const hu_op_call *call, int64_t elements) {
    hu_noise n = {call, (uint64_t)(call->before + call->first) * (uint64_t)elements, 0};
    if (!call->by_formula) return n;
    n.first += call->drawn * (uint64_t)elements;
    n.hash = hu_formula_hash(HU_FORMULA_HASH_START, call->info->name);
    if (!call->training) n.hash = hu_formula_hash(n.hash, "test");
    return n;
}

/* The word of element i of the call. */
uint32_t hu_noise_word(const hu_noise *noise, int64_t i);

typedef struct hu_dropout_attrs {
    float probability; /* of dropping an element, or all of a sample's; what is kept is scaled by
                          1 / (1 - p) */
} hu_dropout_attrs;

/* ---- Numbers of the normal law ---- */

/* normal: no input -> out [numbers] of the standard normal law for every sample. */
typedef struct hu_normal_attrs {
    int64_t numbers;
} hu_normal_attrs;

#endif
