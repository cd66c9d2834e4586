/* product/gathered.h - products of some rows of an array: those whose ids lie in a band. They are
 * gathered in ascending order, multiplied as if they were all there is, and put back in their
 * places; the other rows take no part in any sum and are exact zeros in what is made.
 *
 * Terms stand in the order of the rows that are present. In float32 a weight gradient has a strip
 * of its own for each HU_SOME_ROWS of them; a chosen accumulator goes on from one to the next.
 * Proof: tests/unit/product_some_rows_test.c.
 */
#ifndef HU_PRODUCT_GATHERED_H
#define HU_PRODUCT_GATHERED_H
#include <stddef.h>

#include <halfulp/status.h>

#include "product/geometry.h"
#include "product/product.h"

/* Rows that are gathered at once. */
enum { HU_SOME_ROWS = 64 };

/* Row r is present if first <= ids[r] < last. ids NULL: all are. */
typedef struct hu_row_choice {
    const float *ids;
    int64_t first, last;
} hu_row_choice;

static inline bool hu_row_is_chosen(const hu_row_choice *choice, int64_t r) {
    return !choice->ids || ((double)choice->ids[r] >= (double)choice->first &&
                            (double)choice->ids[r] < (double)choice->last);
}

typedef struct hu_some_rows hu_some_rows;

/* facts as for hu_products_create: the geometry of one row, a linear layer without bias; its engine
 * and its chunk are not read. Owner frees with hu_some_rows_free (NULL is allowed). */
hu_status hu_some_rows_create(const hu_product_facts *facts, hu_some_rows **made);
void hu_some_rows_free(hu_some_rows *rows);

/* Scratch bytes of one call of FORWARD, or of INPUT_GRAD and WEIGHT_GRAD. */
size_t hu_some_rows_scratch_bytes(const hu_some_rows *rows, hu_product_role role);

/* Bytes of call->packed, which pack fills as hu_products_pack does: what FORWARD reads, or what
 * INPUT_GRAD reads and, after it, what accumulate keeps from call to call. */
size_t hu_some_rows_packed_bytes(const hu_some_rows *rows, hu_product_role role);
void hu_some_rows_pack(const hu_some_rows *rows, hu_product_role role, const float *w,
                       void *packed);

/* Computes one product as hu_products_run, with call->count rows, of which choice says which are
 * present. */
void hu_some_rows_run(const hu_some_rows *rows, hu_product_role role, const hu_row_choice *choice,
                      const hu_product_call *call);

/* WEIGHT_GRAD with a chosen accumulator: calls come for all chunks in ascending order, the first
 * with call->first 0, outside parallel regions; dw is complete after the last. */
void hu_some_rows_accumulate(const hu_some_rows *rows, const hu_row_choice *choice,
                             const hu_product_call *call);

/* ---- picked ---- */

/* Products of rows with picked rows of a matrix w [ids, width] with a bias b
 * [ids]: of each row with one of its own, and of all rows with the same others. A sampled softmax
 * reads such scores.
 *
 *   y[r, 0]     = x_r w[own_r] + b[own_r]
 *   y[r, 1 + i] = x_r w[pick_i] + b[pick_i]
 *   dx_r        = sum over i of dy[r, 1 + i] w[pick_i], and dy[r, 0] w[own_r] added to that
 *   dw[v]       = sum over i of the gradients of the picks that are v, and the sum over r of dy[r,
 *                 0] x_r of the rows whose own is v added to that; db alike
 *
 * What all rows share is one product (product/product.h), in its order and with its accumulators;
 * so is each y[r, 0]. The rows of their own are gathered and added in float32 as those of an
 * embedding. A pick that is a row's own does not meet that row: 0 in y, and whatever dy is present.
 * A row without an id has zeros. Rows of w that nobody picks are not read, and have the gradient
 * +0. Proof: tests/unit/op_sampled_test.c.
 */

typedef struct hu_picked_facts {
    int64_t rows; /* of a sample */
    int64_t width, ids, picks;
    bool ignores; /* rows whose own id is `ignored` have none */
    float ignored;
    bool needs_dx;
    const hu_accumulation *accumulation; /* borrowed; NULL: nothing chosen */
    hu_product_engine engine;
    int64_t chunk;
    int threads;
} hu_picked_facts;

/* The arrays of a call on samples first .. first+count-1 of total. Ids are whole numbers as
 * float32. */
typedef struct hu_picked_call {
    const float *x;        /* [count, rows, width] */
    const float *own;      /* [count, rows] */
    const float *picks;    /* [picks], the same of all calls */
    const float *w, *bias; /* [ids, width], [ids] */
    float *y;              /* [count, rows, 1 + picks] */
    const float *dy;       /* as y */
    float *dx;             /* as x */
    float *dw, *db;        /* as w and bias, of the whole batch */
    int64_t first, count, total;
    int thread;
    void *workspace; /* of the pass, shared */
    void *scratch;   /* this thread's own */
    hu_gemm_counts *counts;
} hu_picked_call;

typedef struct hu_picked hu_picked;

/* As hu_products_create, prepare and free. */
hu_status hu_picked_create(const hu_picked_facts *facts, hu_picked **picked);
hu_status hu_picked_prepare(hu_picked *picked, int64_t count);
void hu_picked_free(hu_picked *picked);

/* Numbers of y that are missing, of count samples. */
int64_t hu_picked_absent(const hu_picked_facts *facts, int64_t count, const float *own,
                         const float *picks);

/* Bytes of scratch and of the workspace of a pass: FORWARD, or INPUT_GRAD for the backward pass. */
size_t hu_picked_scratch_bytes(const hu_picked *picked, hu_product_role role);
size_t hu_picked_workspace_bytes(const hu_picked *picked, hu_product_role role);

/* Once before the calls of a pass, on one thread: gathers what all rows share. Reads picks, w, bias
 * and workspace of the call. */
void hu_picked_begin(const hu_picked *picked, hu_product_role role, const hu_picked_call *call);

/* y; and dx. Any thread, any order. */
void hu_picked_forward(const hu_picked *picked, const hu_picked_call *call);
void hu_picked_backward(const hu_picked *picked, const hu_picked_call *call);

/* dw and db, complete after the last call; calls come for all samples in ascending order, outside
 * parallel regions. */
void hu_picked_accumulate(const hu_picked *picked, const hu_picked_call *call);

#endif
