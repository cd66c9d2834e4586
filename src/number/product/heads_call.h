/* product/heads_call.h - what product/batched_matmul.h multiplies: extents of a sample, who sees
 * whom, and the arrays of one product. */
#ifndef HU_PRODUCT_HEADS_CALL_H
#define HU_PRODUCT_HEADS_CALL_H
#include <stddef.h>

#include "product/geometry.h"

typedef struct hu_heads {
    int64_t heads, rows, keys, depth;
    bool is_causal; /* row t sees no key behind key t */
} hu_heads;

/* How many rows and keys of a sample are there: the first ones. */
typedef struct hu_heads_valid {
    int64_t rows, keys;
} hu_heads_valid;

typedef enum hu_heads_form { HU_HEADS_PAIRS, HU_HEADS_ROWS, HU_HEADS_KEYS } hu_heads_form;

/* Arrays of one sample: two factors and the sums, in the order pairs, rows, keys, without the one
 * that is computed. result is overwritten, also where nothing is there (with 0). */
typedef struct hu_heads_call {
    const float *first, *second;
    float *result;
    hu_heads_valid valid;
    const hu_accumulator *accumulator; /* NULL: float32 */
    hu_gemm_counts *counts;            /* of the accumulator, added to; NULL: not counted */
    void *scratch;                     /* hu_heads_scratch_bytes, 64-byte aligned */
} hu_heads_call;

/* Keys that row t sees. */
static inline int64_t hu_heads_seen(const hu_heads *h, hu_heads_valid valid, int64_t t) {
    if (t >= valid.rows) return 0;
    return h->is_causal && t + 1 < valid.keys ? t + 1 : valid.keys;
}

#endif
