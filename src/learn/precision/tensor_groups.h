/* precision/tensor_groups.h - the tensors that carry a precision, and their sizes.
 *
 * These are the activations (the images and the loss per sample included), the parameters, and a
 * gradient of the same size for each, whether or not it is ever computed. Activations count for the
 * whole batch. Labels, views and products inside a layer that are not rounded are none. Source: Lee
 * et al., the set TS.
 */
#ifndef HU_PRECISION_TENSOR_GROUPS_H
#define HU_PRECISION_TENSOR_GROUPS_H
#include "graph/edge.h"
#include "precision/rules.h"

/* What made the value, NULL for inputs and parameters. */
static inline const hu_op *hu_producer_op(const hu_graph *graph, hu_value_id v) {
    uint32_t producer = graph->value[v].producer;
    return producer == HU_NONE ? NULL : graph->node[producer].op;
}

/* A product whose only reader adds the bias: inside one layer, not a tensor of its own for most
 * schemes. */
bool hu_is_inner_product(const hu_graph *graph, hu_value_id v);

/* Is v, and so its gradient, a tensor of the set? */
bool hu_is_tensor(const hu_graph *graph, const hu_edge_table *edges, hu_value_id v);

/* Does a tensor that is rounded so count as low precision? */
bool hu_is_low(const hu_edge_table *edges, const hu_quantizer *quantizer, hu_role role);

/* What a value, or its gradient, is for. */
static inline hu_role hu_role_of(const hu_value_info *value, bool is_gradient) {
    bool is_param = value->role == HU_VALUE_PARAMETER;
    if (is_param) return is_gradient ? HU_ROLE_WEIGHT_GRAD : HU_ROLE_WEIGHT;
    return is_gradient ? HU_ROLE_ACT_GRAD : HU_ROLE_ACT;
}

/* Elements of a value for a batch; its gradient has as many. */
static inline int64_t hu_tensor_elements(const hu_value_info *value, int64_t batch) {
    return value->elements * (value->role == HU_VALUE_PARAMETER ? 1 : batch);
}

/* Bits of a value for a batch in the quantizer's format: 32 each where nothing is rounded; block
 * formats with their scales, uniform integers with those of channels. */
int64_t hu_tensor_bits(const hu_value_info *value, const hu_quantizer *quantizer, int64_t batch);

/* Elements of the whole set. */
int64_t hu_precision_tensor_elements(const hu_graph *graph, const hu_edge_table *edges,
                                     int64_t batch);

/* Share of those elements whose format has at most edges->low_bits bits of their role. Source: Lee
 * et al., low-precision ratio. */
double hu_precision_low_ratio(const hu_graph *graph, const hu_edge_table *edges, int64_t batch);

/* Bits of the whole set. Source: Lee et al., model aggregate. */
int64_t hu_precision_aggregate_bits(const hu_graph *graph, const hu_edge_table *edges,
                                    int64_t batch);

/* How the gradient of a value is rounded: that of its first consumer; the loss, which has none,
 * counts as its gradient does. Borrowed: valid as long as the edges. */
const hu_quantizer *hu_precision_gradient(const hu_graph *graph, const hu_edge_table *edges,
                                          hu_value_id v);

/* ---- group ---- */

/* Tensors between two matrix products, the unit in which assignments demote.
 *
 * Modules are taken in execution order. The input begins group 0, every convolution and every
 * linear layer begins the next one. The output of a module and its gradient belong to the module's
 * group; its parameters and their gradients to the group of the module that produces its first
 * input, so that a product's weights sit with the activation that it reads. Views produce nothing:
 * who reads one reads what the view shows. Source: Lee et al., section 4 and released code.
 */

typedef struct hu_tensor_groups {
    uint32_t count;
    uint32_t *of_value; /* [value_count] group of a value and its gradient, HU_NONE: no tensor */
    int64_t *elements;  /* [count] values and gradients, activations for the whole batch */
    int64_t all;        /* sum of the elements */
} hu_tensor_groups;

/* Groups of the tensor set (precision/tensor_groups.h). Owner frees. */
hu_status hu_tensor_groups_create(const hu_graph *graph, const hu_edge_table *edges, int64_t batch,
                                  hu_tensor_groups *groups);
void hu_tensor_groups_free(hu_tensor_groups *groups);

/* Share of a group in all elements, 0..1. */
static inline double hu_group_share(const hu_tensor_groups *groups, uint32_t group) {
    return groups->all > 0 ? (double)groups->elements[group] / (double)groups->all : 0.0;
}

/* order[count]: the groups by size, largest first; of equals the earlier first. */
void hu_groups_by_size(const hu_tensor_groups *groups, bool smallest_first, uint32_t *order);

#endif
