#include "precision/group.h"

#include "base/error.h"
#include "base/memory.h"
#include "precision/tensor_set.h"

/* The value that holds the numbers of v and came into being by a module: views and the bias of a
 * layer's product are looked through. */
static hu_value_id module_input(const hu_graph *graph, hu_value_id v) {
    for (;;) {
        const hu_op *op = hu_producer_op(graph, v);
        if (!op || !(op->is_view || hu_is_inner_product(graph, v))) return v;
        v = graph->node[graph->value[v].producer].in[0];
    }
}

/* The group in which the value came into being; for what is no tensor, too. */
static void place_values(const hu_graph *graph, uint32_t *home, uint32_t *count) {
    uint32_t group = 0;
    for (hu_value_id v = 0; v < graph->value_count; v++) home[v] = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const hu_node *node = &graph->node[n];
        group += node->op->is_product;
        for (int i = 0; i < node->n_out; i++) home[node->out[i]] = group;
    }
    /* Apart: what a state of a loop reads is made behind it. */
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const hu_node *node = &graph->node[n];
        for (int p = 0; p < node->n_params; p++)
            home[node->param[p]] = home[module_input(graph, node->in[0])];
    }
    *count = group + 1;
}

hu_status hu_tensor_groups_create(const hu_graph *graph, const hu_edge_table *edges, int64_t batch,
                                  hu_tensor_groups *groups) {
    hu_status st = HU_OK;
    *groups = (hu_tensor_groups){0};
    HU_TRY(HU_NEW_ARRAY(&groups->of_value, graph->value_count));
    place_values(graph, groups->of_value, &groups->count);
    HU_TRY(HU_NEW_ARRAY(&groups->elements, groups->count));
    /* Values that are no tensors had a place only so that parameters could find theirs. */
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        if (!hu_is_tensor(graph, edges, v)) {
            groups->of_value[v] = HU_NONE;
            continue;
        }
        int64_t elements = 2 * hu_tensor_elements(&graph->value[v], batch);
        groups->elements[groups->of_value[v]] += elements;
        groups->all += elements;
    }
done:
    if (st != HU_OK) hu_tensor_groups_free(groups);
    return st;
}

void hu_tensor_groups_free(hu_tensor_groups *groups) {
    hu_free(groups->of_value);
    hu_free(groups->elements);
    *groups = (hu_tensor_groups){0};
}

/* Insertion keeps the earlier of two equal groups in front. */
void hu_groups_by_size(const hu_tensor_groups *groups, bool smallest_first, uint32_t *order) {
    for (uint32_t g = 0; g < groups->count; g++) {
        uint32_t at = g;
        for (; at > 0; at--) {
            int64_t before = groups->elements[order[at - 1]], here = groups->elements[g];
            if (smallest_first ? before <= here : before >= here) break;
            order[at] = order[at - 1];
        }
        order[at] = g;
    }
}
