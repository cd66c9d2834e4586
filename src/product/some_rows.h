/* product/some_rows.h - products of some rows of an array: those whose ids lie in a band. They are
 * gathered in ascending order, multiplied as if they were all there is, and put back in their
 * places; the other rows take no part in any sum and are exact zeros in what is made.
 *
 * Terms stand in the order of the rows that are there. In float32 a weight gradient has a strip of
 * its own for each HU_SOME_ROWS of them; a chosen accumulator goes on from one to the next. Proof:
 * tests/unit/product_some_rows_test.c.
 */
#ifndef HU_PRODUCT_SOME_ROWS_H
#define HU_PRODUCT_SOME_ROWS_H
#include "product/product.h"

/* Rows that are gathered at once. */
enum { HU_SOME_ROWS = 64 };

/* Row r is there if first <= ids[r] < last. ids NULL: all are. */
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
 * INPUT_GRAD reads and, behind it, what accumulate keeps from call to call. */
size_t hu_some_rows_packed_bytes(const hu_some_rows *rows, hu_product_role role);
void hu_some_rows_pack(const hu_some_rows *rows, hu_product_role role, const float *w,
                       void *packed);

/* Computes one product as hu_products_run, with call->count rows, of which choice says which are
 * there. */
void hu_some_rows_run(const hu_some_rows *rows, hu_product_role role, const hu_row_choice *choice,
                      const hu_product_call *call);

/* WEIGHT_GRAD with a chosen accumulator: calls come for all chunks in ascending order, the first
 * with call->first 0, outside parallel regions; dw is complete after the last. */
void hu_some_rows_accumulate(const hu_some_rows *rows, const hu_row_choice *choice,
                             const hu_product_call *call);

#endif
