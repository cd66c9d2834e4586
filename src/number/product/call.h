/* product/call.h - the facts of a layer's products, and the arrays of one of them: what all ways to
 * compute a product read.
 */
#ifndef HU_PRODUCT_CALL_H
#define HU_PRODUCT_CALL_H
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/checked.h"
#include "product/geometry.h"

/* The fixed facts of the products of a layer. */
typedef struct hu_product_facts {
    hu_product geometry;
    /* A layer that applies the weights of another one backward (a tied decoder, a transposed
     * convolution): geometry is the other layer's, x has the shape of its output, y that of its
     * input. FORWARD is then computed as that layer's input gradient, and INPUT_GRAD as its
     * forward product. */
    bool transposed;
    const hu_accumulation *accumulation; /* borrowed; NULL: nothing chosen */
    bool needs[HU_PRODUCT_ROLES];        /* those that are ever asked for */
    hu_product_engine engine;
    int64_t chunk; /* samples of most calls, and the most */
    int threads;   /* calls that may run at the same time */
} hu_product_facts;

/* The arrays of one product on samples first .. first+count-1 of the batch. All arrays are plain
 * and begin with sample `first`. FORWARD reads x and writes y, INPUT_GRAD reads dy and writes dx,
 * WEIGHT_GRAD reads x and dy and writes dw and db; other pointers may be NULL. w is read by
 * products with a chosen accumulator alone, bias by these and by transposed layers: all others read
 * `packed`. The shapes are those of a layer that is not transposed. */
typedef struct hu_product_call {
    const float *x;    /* [count, in_h, in_w, in_c] */
    const float *w;    /* [out_c, kernel_h, kernel_w, in_c / groups] */
    const float *bias; /* [out_c], NULL without one */
    float *y;          /* [count, out_h, out_w, out_c] */
    const float *dy;   /* as y */
    float *dx;         /* as x */
    float *dw;         /* as w */
    float *db;         /* as bias; NULL: not wanted */
    int64_t first, count;
    /* [first + count] of products of rows: the first rows of each sample of the batch that are
     * present, of `extent` of them. The others hold zeros, and what is made of them need not be
     * written; in products with a chosen accumulator they are no terms. NULL: all are present. */
    const float *lengths;
    int64_t extent;
    int thread;    /* 0 .. facts.threads-1 */
    bool adds;     /* WEIGHT_GRAD: dw and db hold the sum over earlier chunks, this one is added */
    void *packed;  /* the weights as hu_products_pack has left them for this product */
    void *carry;   /* the state of a weight gradient with a chosen accumulator, between chunks */
    void *scratch; /* this thread's own; 64-byte aligned */
    hu_gemm_counts *counts; /* [HU_PRODUCT_ROLES] this thread's, added to by products with a chosen
                               accumulator; NULL: not counted */
} hu_product_call;

/* The same product seen from the other of two transposed layers. */
static inline hu_product_role hu_product_swapped(bool transposed, hu_product_role role) {
    if (!transposed || role == HU_PRODUCT_WEIGHT_GRAD) return role;
    return role == HU_PRODUCT_FORWARD ? HU_PRODUCT_INPUT_GRAD : HU_PRODUCT_FORWARD;
}

/* Has the product that geometry calls `role` a chosen accumulator? The choice is made in the terms
 * of the layer. */
static inline bool hu_product_is_accumulated(const hu_product_facts *facts, hu_product_role role) {
    return facts->accumulation &&
           facts->accumulation->chosen[hu_product_swapped(facts->transposed, role)];
}

/* Products of rows of which samples have the first ones
 * (hu_product_call.lengths). */

/* Rows of the product that sample s of the batch has, where the call has lengths. */
static inline int64_t hu_rows_valid(const hu_product *p, const hu_product_call *call, int64_t s) {
    return hu_rows_of_length(call->lengths[s], call->extent) * (p->out_h / call->extent);
}

/* The call of its sample s alone: 0 .. count-1. */
static inline hu_product_call hu_call_of_sample(const hu_product *p, const hu_product_call *call,
                                                int64_t s) {
    int64_t in = s * hu_product_in(p), out = s * hu_product_out(p);
    hu_product_call one = *call;
    one.first += s;
    one.count = 1;
    if (call->x) one.x = call->x + in;
    if (call->dx) one.dx = call->dx + in;
    if (call->y) one.y = call->y + out;
    if (call->dy) one.dy = call->dy + out;
    return one;
}

/* A bias beside a product: added to its output, and its gradient. */

/* y [rows, channels] += bias [channels] */
static inline void hu_bias_add(int64_t rows, int64_t channels, const float *bias, float *y) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t c = 0; c < channels; c++) y[i * channels + c] += bias[c];
}

/* db [channels] += the rows of dy [rows, channels], in float32 and in order; starts: from +0. */
static inline void hu_bias_add_rows(bool starts, int64_t rows, int64_t channels, const float *dy,
                                    float *db) {
    if (starts) memset(db, 0, (size_t)channels * sizeof *db);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t c = 0; c < channels; c++) db[c] += dy[i * channels + c];
}

#endif
