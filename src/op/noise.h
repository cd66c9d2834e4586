/* op/noise.h - random words of a node: element i of sample s of the batch takes word s elements + i
 * of the node's key, so that chunks do not matter. In check runs it takes word (samples before)
 * elements + i of the node's name, or of the name and "test" outside of training. */
#ifndef HU_OP_NOISE_H
#define HU_OP_NOISE_H
#include "base/rng.h"
#include "op/op.h"

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

#endif
