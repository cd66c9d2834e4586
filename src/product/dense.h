/* product/dense.h - products of one group or depthwise, by kernel/conv, in float32 and an order
 * of sums that is part of their definition (kernel/conv/conv.h, kernel/conv/depthwise.h,
 * kernel/conv/winograd.h). The bias gradient of a call is summed as in the op bias. No call fails
 * or allocates.
 */
#ifndef HU_PRODUCT_DENSE_H
#define HU_PRODUCT_DENSE_H
#include "kernel/conv/conv.h"
#include "kernel/conv/depthwise.h"
#include "product/call.h"

typedef struct hu_dense {
    hu_conv conv;
    hu_depthwise *depthwise; /* of a depthwise convolution */
    hu_conv_plan *plan;      /* of another; both NULL: by Winograd's algorithm */
    hu_conv_plan *row; /* where pixels are rows that samples may not all have: of one row, with
                          the packed weights and the sums of all; else NULL */
} hu_dense;

/* True if kernel/conv can compute the product: one group, or as many as channels on both sides. */
bool hu_dense_can(const hu_product *product);

/* HU_ERR_MEMORY, HU_ERR_LIMIT; hu_dense_can must hold. engine: not HU_ENGINE_ONEDNN. Owner frees
 * with hu_dense_free (NULL is allowed). */
hu_status hu_dense_create(const hu_product *product, hu_product_engine engine, hu_dense **dense);
void hu_dense_free(hu_dense *dense);

/* Scratch of one of the products in a call of up to count samples. */
size_t hu_dense_scratch_bytes(const hu_product *product, const hu_dense *dense,
                              hu_product_role role, int64_t count);

/* FORWARD and INPUT_GRAD read packed weights, as hu_dense_pack has left them for this role; 64-byte
 * aligned. bias NULL: none. */
size_t hu_dense_packed_bytes(const hu_dense *dense, hu_product_role role);
void hu_dense_pack(const hu_dense *dense, hu_product_role role, const float *w, const float *bias,
                   void *packed);

/* product: the one that dense was created for. */
void hu_dense_run(const hu_dense *dense, const hu_product *product, hu_product_role role,
                  const hu_product_call *call);

#endif
