#include <halfulp/tensor.h>

#include <inttypes.h>
#include <stdio.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/given.h"

/* A scalar has rank 0 and one element, the empty product. */
int64_t hu_shape_elements(const hu_shape *shape) {
    if (!shape) return 0;
    int64_t elements = 1;
    for (int i = 0; i < shape->rank; i++) elements *= shape->extent[i];
    return elements;
}

hu_status hu_shape_check(const hu_shape *shape) {
    HU_GIVEN(shape);
    int64_t elements = 1;
    if (shape->rank < 0 || shape->rank > HU_MAX_RANK)
        return hu_fail(HU_ERR_SHAPE, "rank %d, allowed 0..%d", shape->rank, HU_MAX_RANK);
    for (int i = 0; i < shape->rank; i++) {
        if (shape->extent[i] < 1)
            return hu_fail(HU_ERR_SHAPE, "extent %d is %" PRId64 ", expected at least 1", i,
                           shape->extent[i]);
        /* Elements are counted in int64_t everywhere; a product that overflows would pass as a
         * small one. */
        if (!hu_mul_i64(elements, shape->extent[i], &elements))
            return hu_fail(HU_ERR_SHAPE, "the number of elements does not fit 63 bits");
    }
    return HU_OK;
}

int hu_shape_equal(const hu_shape *a, const hu_shape *b) {
    if (!a || !b) return a == b;
    if (a->rank != b->rank) return 0;
    for (int i = 0; i < a->rank; i++)
        if (a->extent[i] != b->extent[i]) return 0;
    return 1;
}

/* "28x28x1", or "scalar". */
void hu_shape_print(const hu_shape *shape, char *text, uint32_t capacity) {
    uint32_t used = 0;
    if (!text || capacity == 0) return;
    text[0] = '\0';
    if (!shape) return;
    if (shape->rank == 0) snprintf(text, capacity, "scalar");
    for (int i = 0; i < shape->rank && used < capacity; i++)
        used += (uint32_t)snprintf(text + used, capacity - used, i ? "x%" PRId64 : "%" PRId64,
                                   shape->extent[i]);
}
