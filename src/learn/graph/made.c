#include "graph/made.h"

#include <stdio.h>

hu_tensor hu_product_makes(const hu_node *node, hu_product_role role) {
    if (role == HU_PRODUCT_FORWARD) return (hu_tensor){HU_TENSOR_VALUE, node->out[0]};
    hu_value_id of = role == HU_PRODUCT_INPUT_GRAD ? node->in[0] : hu_node_second_factor(node);
    return (hu_tensor){HU_TENSOR_GRADIENT, of};
}

static bool is_same(hu_tensor a, hu_tensor b) {
    return a.kind == b.kind && a.value == b.value;
}

/* Products of one node that make the tensor. */
static uint32_t add_of(const hu_graph *graph, uint32_t n, hu_tensor tensor, uint32_t found,
                       uint32_t room, hu_made_by *made) {
    const hu_node *node = &graph->node[n];
    for (int role = 0; role < HU_PRODUCT_ROLES && node->op->is_product; role++) {
        if (!is_same(hu_product_makes(node, (hu_product_role)role), tensor)) continue;
        if (found < room) made[found] = (hu_made_by){n, (hu_product_role)role};
        found++;
    }
    return found;
}

uint32_t hu_made_by_products(const hu_graph *graph, hu_tensor tensor, uint32_t room,
                             hu_made_by *made) {
    const hu_value_info *value = &graph->value[tensor.value];
    uint32_t found = 0;
    if (tensor.kind == HU_TENSOR_VALUE && value->producer != HU_NONE)
        return add_of(graph, value->producer, tensor, 0, room, made);
    if (tensor.kind != HU_TENSOR_GRADIENT) return 0;
    for (uint32_t k = 0, last = HU_NONE; k < value->use_count; k++) {
        uint32_t n = graph->use[value->uses[k]].node;
        if (n != last) found = add_of(graph, n, tensor, found, room, made);
        last = n;
    }
    return found;
}

const char *hu_product_name(const hu_graph *graph, hu_made_by product, char *name) {
    char layer[HU_NAME_BYTES];
    hu_graph_layer_name(graph, &graph->node[product.node], layer);
    snprintf(name, HU_TENSOR_NAME_BYTES, "%s.%s", layer, hu_product_role_name(product.role));
    return name;
}
