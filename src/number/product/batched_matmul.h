/* product/batched_matmul.h - products of two arrays of one sample, head by head: what attention
 * multiplies.
 *
 * A sample has rows [rows][heads][depth], keys [keys][heads][depth] and a number for each pair of
 * them, pairs [heads][rows][keys]. From two of them comes the third, t a row, s a key:
 *
 *   PAIRS  pairs[t, s] = sum over j of rows[t, j] keys[s, j]
 *   ROWS   rows[t, j]  = sum over s of pairs[t, s] keys[s, j]
 *   KEYS   keys[s, j]  = sum over t of pairs[t, s] rows[t, j]
 *
 * Row t sees the first keys, as hu_heads_seen says. What it does not see is no term of any sum, no
 * product of an accumulator, and 0 in pairs. Terms come in ascending order, from +0: in float32
 * with one fused multiply-add each, or in a chosen accumulator. The same bits on every instruction
 * set. Proof: tests/unit/product_heads_test.c.
 */
#ifndef HU_PRODUCT_BATCHED_MATMUL_H
#define HU_PRODUCT_BATCHED_MATMUL_H
#include <stddef.h>

#include "product/geometry.h"

/* What product/batched_matmul.h multiplies: extents of a sample, who sees
 * whom, and the arrays of one product. */

typedef struct hu_heads {
    int64_t heads, rows, keys, depth;
    bool is_causal; /* row t sees no key after key t */
} hu_heads;

/* How many rows and keys of a sample are present: the first ones. */
typedef struct hu_heads_valid {
    int64_t rows, keys;
} hu_heads_valid;

typedef enum hu_heads_form { HU_HEADS_PAIRS, HU_HEADS_ROWS, HU_HEADS_KEYS } hu_heads_form;

/* Arrays of one sample: two factors and the sums, in the order pairs, rows, keys, without the one
 * that is computed. result is overwritten, also where nothing is present (with 0). */
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

/* Pairs of a row and a key that it sees, in one head. */
int64_t hu_heads_pairs_seen(const hu_heads *h, hu_heads_valid valid);

/* Scratch of one product of the form. HU_ERR_FORMAT, HU_ERR_LIMIT as hu_gemm_scratch_bytes. */
hu_status hu_heads_scratch_bytes(const hu_heads *h, hu_heads_form form,
                                 const hu_accumulator *accumulator, size_t *bytes);

/* Computes one product; thread-safe. If it fails (out of memory), the result is filled with NaN. */
void hu_heads_run(const hu_heads *h, hu_heads_form form, const hu_heads_call *call);

#endif
