/* product/float32.h - products in float32, of one group or several, in a fixed order of sums. */
#ifndef HU_PRODUCT_FLOAT32_H
#define HU_PRODUCT_FLOAT32_H
#include "kernel/conv/conv.h"
#include "kernel/conv/depthwise.h"
#include "product/call.h"

/* ---- dense ---- */

/* Products of one group or depthwise, by kernel/conv, in float32 and an order
 * of sums that is part of their definition (kernel/conv/conv.h, kernel/conv/depthwise.h,
 * kernel/conv/winograd.h). The bias gradient of a call is summed as in the op bias. No call fails
 * or allocates.
 */

typedef struct hu_dense {
    hu_conv conv;
    hu_depthwise *depthwise; /* of a depthwise convolution */
    hu_conv_plan *plan;      /* of another; both NULL: by Winograd's algorithm */
    hu_conv_plan *row; /* where pixels are rows that samples may not all have: of one row, with
                          the packed weights and the sums of all; else NULL */
} hu_dense;

/* ---- grouped ---- */

/* Products of any number of groups by kernel/conv. Every group is a product of
 * its own (float32.h) on its share of the channels, in the order of sums that it has alone; one
 * group and depthwise convolutions are handed on as they are. No call fails or allocates but
 * create.
 */

typedef struct hu_grouped {
    hu_product part; /* one group */
    int64_t groups;  /* parts that are computed one after the other */
    hu_dense *dense; /* of the part */
} hu_grouped;

/* HU_ERR_MEMORY, HU_ERR_LIMIT. engine: not HU_ENGINE_ONEDNN. Owner frees with hu_grouped_free
 * (NULL is allowed). */
hu_status hu_grouped_create(const hu_product *product, hu_product_engine engine,
                            hu_grouped **grouped);
void hu_grouped_free(hu_grouped *grouped);

/* Whether Winograd's algorithm computes its products. */
bool hu_grouped_is_by_winograd(const hu_grouped *grouped);

/* Sizes, packing and products as in float32.h. */
size_t hu_grouped_scratch_bytes(const hu_grouped *grouped, hu_product_role role, int64_t count);
size_t hu_grouped_packed_bytes(const hu_grouped *grouped, hu_product_role role);
void hu_grouped_pack(const hu_grouped *grouped, hu_product_role role, const float *w,
                     const float *bias, void *packed);
void hu_grouped_run(const hu_grouped *grouped, hu_product_role role, const hu_product_call *call);

#endif
