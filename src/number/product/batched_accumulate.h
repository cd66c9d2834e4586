/* product/batched_accumulate.h - the products of product/batched_matmul.h with a chosen
 * accumulator. */
#ifndef HU_PRODUCT_BATCHED_ACCUMULATE_H
#define HU_PRODUCT_BATCHED_ACCUMULATE_H
#include "product/heads_call.h"

hu_status hu_heads_accumulate_scratch_bytes(const hu_heads *h, hu_heads_form form,
                                            const hu_accumulator *accumulator, size_t *bytes);

/* The sums of one head, whose arrays the call names from its first numbers on; of the result only
 * sums that have terms are written. False: out of memory. */
bool hu_heads_accumulate_run(const hu_heads *h, hu_heads_form form, const hu_heads_call *call);

#endif
