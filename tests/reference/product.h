/* reference/product.h - the definition of conv2d and linear in plain loops with float64 sums: the
 * oracle of their tests. */
#ifndef HU_REFERENCE_PRODUCT_H
#define HU_REFERENCE_PRODUCT_H
#include "product/geometry.h"

/* A sum of products and the sum of their magnitudes, which bounds the error of any float32 order of
 * the same sum. */
typedef struct hu_reference_sum {
    double value, magnitude;
} hu_reference_sum;

/* y [count, out] from x [count, in], weights and bias [out_c] (NULL: none). */
void hu_reference_forward(const hu_product *p, int64_t count, const float *x, const float *weights,
                          const float *bias, hu_reference_sum *y);

/* dx [count, in] from dy [count, out] and weights. */
void hu_reference_backward_data(const hu_product *p, int64_t count, const float *dy,
                                const float *weights, hu_reference_sum *dx);

/* dw [weights] and db [out_c] (NULL: not wanted), summed over count samples. */
void hu_reference_backward_weights(const hu_product *p, int64_t count, const float *x,
                                   const float *dy, hu_reference_sum *dw, hu_reference_sum *db);

#endif
