/* train/weight_layout.h - which array of a file is which tensor of a network: names and orders of
 * axes. */
#ifndef HU_TRAIN_WEIGHT_LAYOUT_H
#define HU_TRAIN_WEIGHT_LAYOUT_H
#include "graph/graph.h"
#include "store/safetensors.h"

/* ---- weight names ---- */

/* Which array of a file is which tensor of a network, where the two have
 * other names: prefixes that wrappers put in front ("module.", "_orig_mod.", "backbone."), on
 * either side, and the names that torchvision's classifiers have.
 */

/* How names of the file follow from the network's. */
typedef struct hu_weight_naming {
    int scheme;                 /* 0: the same names; else those of a list of renamings */
    char theirs[HU_NAME_BYTES]; /* what the file has in front of every name; "" */
    char ours[HU_NAME_BYTES];   /* what the network has in front of names, and the file has not */
} hu_weight_naming;

/* The naming by which most parameters and running statistics are in the file; of equals the
 * plainest. One that leaves out a part of the network must find a third of the file. */
void hu_weight_naming_find(const hu_graph *graph, const hu_safetensors *file,
                           hu_weight_naming *naming);

/* Whose names they are, "torchvision"; NULL: the network's own. */
const char *hu_weight_naming_title(const hu_weight_naming *naming);

/* Is it what a file of weights holds, a parameter or a running statistic? */
bool hu_is_in_weights(const hu_value_info *value);

/* The name that a tensor has in the file; false: it can have none there. text: room for
 * HU_NAME_BYTES. */
bool hu_weight_name_in_file(const hu_weight_naming *naming, const char *name, char *text);

/* ---- vector order ---- */

/* In which order torch has the numbers of the vectors of a graph.
 *
 * An image is [height, width, channels] here and [channels, height, width] there, so that a vector
 * that was an image, or becomes one, has its numbers in another order, and so have all vectors that
 * are tied to it number by number: behind an activation, a norm, a bias. A vector is a value whose
 * extents are 1 but for the last: [n], [1, 1, n]. Every value of three extents is taken for an
 * image. Rows [steps, features] are the same in both, and so is what regions give (roi_pool).
 */

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
