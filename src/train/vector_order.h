/* train/vector_order.h - in which order torch has the numbers of the vectors of a graph.
 *
 * An image is [height, width, channels] here and [channels, height, width] there, so that a vector
 * that was an image, or becomes one, has its numbers in another order, and so have all vectors that
 * are tied to it number by number: behind an activation, a norm, a bias. A vector is a value whose
 * extents are 1 but for the last: [n], [1, 1, n]. Every value of three extents is taken for an
 * image. Rows [steps, features] are the same in both, and so is what regions give (roi_pool).
 */
#ifndef HU_TRAIN_VECTOR_ORDER_H
#define HU_TRAIN_VECTOR_ORDER_H
#include "graph/graph.h"

typedef struct hu_vector_orders hu_vector_orders;

/* Of all values of a finished graph, borrowed. HU_ERR_MEMORY; owner frees with
 * hu_vector_orders_free. Proof: tests/unit/train_weight_view_test.c, session_flatten_test.c. */
hu_status hu_vector_orders_create(const hu_graph *graph, hu_vector_orders **result);
void hu_vector_orders_free(hu_vector_orders *orders); /* NULL is allowed */

/* Is the value a vector? */
bool hu_is_vector(const hu_shape *shape);

/* order[i]: the place here of number i there; NULL: the same place. Borrowed. HU_ERR_UNSUPPORTED
 * names a vector of which torch would need two orders at once. */
hu_status hu_vector_order_of(const hu_vector_orders *orders, hu_value_id v, const int64_t **order);

/* Does every parameter of the node's op that has one number for each element of a vector stand in
 * that vector's order? */
bool hu_is_by_element(const hu_op *op);

/* order[elements] of an image: channels first. */
void hu_image_order(const hu_shape *image, int64_t *order);

#endif
