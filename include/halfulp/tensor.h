/* halfulp/tensor.h - shapes.
 * Layer 3.
 */
#ifndef HALFULP_TENSOR_H
#define HALFULP_TENSOR_H
#include <stdint.h>

#include <halfulp/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HU_MAX_RANK = 8 };

/* Extents of an array, slowest first; images are [H, W, C] (a leading batch extent is kept apart).
 * Rank 0 is a scalar. */
typedef struct hu_shape {
    int32_t rank;
    int64_t extent[HU_MAX_RANK];
} hu_shape;

/* Product of the extents (1 for rank 0). The shape must have passed hu_shape_check. */
HU_API int64_t hu_shape_elements(const hu_shape *shape);

/* HU_OK if the rank is 0..8, every extent is positive and the product fits int64; else
 * HU_ERR_SHAPE. */
HU_API hu_status hu_shape_check(const hu_shape *shape);

/* True if rank and extents are equal. */
HU_API int hu_shape_equal(const hu_shape *a, const hu_shape *b);

/* Writes "32x32x16" ("scalar" for rank 0); text: capacity bytes, 176 are enough for any. */
HU_API void hu_shape_print(const hu_shape *shape, char *text, uint32_t capacity);

#ifdef __cplusplus
}
#endif

#endif
