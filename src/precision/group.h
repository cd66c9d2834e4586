/* precision/group.h - tensors between two matrix products, the unit in which assignments demote.
 *
 * Modules are taken in execution order. The input begins group 0, every convolution and every
 * linear layer begins the next one. The output of a module and its gradient belong to the module's
 * group; its parameters and their gradients to the group of the module that produces its first
 * input, so that a product's weights sit with the activation that it reads. Views produce nothing:
 * who reads one reads what the view shows. Source: Lee et al., section 4 and released code.
 */
#ifndef HU_PRECISION_GROUP_H
#define HU_PRECISION_GROUP_H
#include "graph/edge.h"

typedef struct hu_tensor_groups {
    uint32_t count;
    uint32_t *of_value; /* [value_count] group of a value and its gradient, HU_NONE: no tensor */
    int64_t *elements;  /* [count] values and gradients, activations for the whole batch */
    int64_t all;        /* sum of the elements */
} hu_tensor_groups;

/* Groups of the tensor set (precision/tensor_set.h). Owner frees. */
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
