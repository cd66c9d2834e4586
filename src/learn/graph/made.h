/* graph/made.h - which products make a tensor. */
#ifndef HU_GRAPH_MADE_H
#define HU_GRAPH_MADE_H
#include "graph/tensor_order.h"

typedef struct hu_made_by {
    uint32_t node;
    hu_product_role role;
} hu_made_by;

/* Products whose sums a tensor is, or is added up from: of a value that of its node, of a gradient
 * those of its consumers' backward parts. At most room of them are written, all are counted;
 * tensors of other kinds have none. */
uint32_t hu_made_by_products(const hu_graph *graph, hu_tensor tensor, uint32_t room,
                             hu_made_by *made);

/* The tensor that a product makes. */
hu_tensor hu_product_makes(const hu_node *node, hu_product_role role);

/* "conv1.forward". name: room for HU_TENSOR_NAME_BYTES. Gives name. */
const char *hu_product_name(const hu_graph *graph, hu_made_by product, char *name);

#endif
