/* product/float32.h - products in float32, of one group or several, in a fixed order of sums. */
#ifndef HU_PRODUCT_FLOAT32_H
#define HU_PRODUCT_FLOAT32_H
#include "product/call.h"

/* Products of any number of groups by kernel/conv: every group is a product of its own on its share
 * of the channels, in the order of sums that it has alone, which is part of the definition
 * (kernel/conv/conv.h, depthwise.h, winograd.h). The bias gradient of a call is summed as in the op
 * bias. No call fails or allocates but create. */
typedef struct hu_grouped hu_grouped;

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
