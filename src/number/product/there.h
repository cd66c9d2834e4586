/* product/there.h - products of rows of which samples have the first ones
 * (hu_product_call.lengths).
 */
#ifndef HU_PRODUCT_THERE_H
#define HU_PRODUCT_THERE_H
#include "base/whole.h"
#include "product/call.h"

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

#endif
