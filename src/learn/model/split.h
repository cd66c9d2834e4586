/* model/split.h - products whose bias is a node of its own, for schemes that round before it. */
#ifndef HU_MODEL_SPLIT_H
#define HU_MODEL_SPLIT_H
#include "graph/graph.h"

/* Whether a node is a product that adds a bias itself. */
bool hu_adds_bias(const hu_op *op, const void *attrs);

/* Declares such a product as two nodes: NAME.product, and NAME, which adds the bias. Parameters are
 * called PREFIX.weight and PREFIX.bias (NULL: by the name) all the same, and begin with the same
 * numbers. Errors as hu_graph_apply. Source: Popescu et al., section IV-A: R(R(R(W) R(X)) + R(B)).
 */
hu_status hu_apply_split(hu_graph *graph, const hu_op *op, const char *name, const char *prefix,
                         const void *attrs, const hu_value_id *in, hu_value_id *out);

#endif
