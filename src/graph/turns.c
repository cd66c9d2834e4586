/* Networks that learn in turns: their declaration, what a pass of a turn reads, and their sizes. */
#include <string.h>

#include "base/error.h"
#include "graph/graph.h"

hu_status hu_graph_turn(hu_graph *graph, const char *name) {
    size_t length = strlen(name);
    if (length == 0 || length >= HU_TURN_BYTES)
        return hu_fail(HU_ERR_ARGUMENT, "turn '%.40s': found %zu characters, expected 1 to %d",
                       name, length, HU_TURN_BYTES - 1);
    if (graph->turn_count == HU_TURNS_MOST)
        return hu_fail(HU_ERR_LIMIT, "turn '%s': more than %d turns", name, HU_TURNS_MOST);
    if (graph->turn_count == 0 && graph->loss_count > 0)
        return hu_fail(HU_ERR_ARGUMENT, "turn '%s': found a loss that belongs to no turn", name);
    for (int t = 0; t < graph->turn_count; t++)
        if (strcmp(graph->turn[t].name, name) == 0)
            return hu_fail(HU_ERR_ARGUMENT, "two turns are called '%s'", name);
    memcpy(graph->turn[graph->turn_count++].name, name, length + 1);
    return HU_OK;
}

void hu_graph_answer(hu_graph *graph, hu_value_id made, hu_value_id wanted) {
    graph->made = made;
    graph->wanted = wanted;
}

hu_value_id hu_graph_made(const hu_graph *graph) {
    return graph->made != HU_NONE ? graph->made : graph->node[graph->loss[0].node].in[0];
}

hu_value_id hu_graph_wanted(const hu_graph *graph) {
    return graph->wanted != HU_NONE ? graph->wanted : graph->node[graph->loss[0].node].in[1];
}

bool hu_graph_is_compared(const hu_graph *graph, hu_value_id v) {
    for (int k = 0; k < graph->loss_count; k++) {
        const hu_node *loss = &graph->node[graph->loss[k].node];
        for (int i = 0; i < loss->n_in; i++)
            if (loss->in[i] == v) return true;
    }
    return v == graph->made || v == graph->wanted;
}

bool hu_value_is_read(const hu_graph *graph, hu_value_id v, int turn) {
    const hu_value_info *value = &graph->value[v];
    for (uint32_t k = 0; k < value->use_count; k++)
        if (hu_node_runs(&graph->node[graph->use[value->uses[k]].node], turn)) return true;
    return turn == 0 || value->tells_ends;
}

bool hu_value_repeats(const hu_graph *graph, hu_value_id v, int turn) {
    for (int earlier = 1; earlier < turn; earlier++)
        if (hu_value_is_read(graph, v, earlier)) return true;
    return false;
}

/* ---- sizes ---- */

int64_t hu_graph_turn_parameters(const hu_graph *graph, int turn) {
    int64_t total = 0;
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        const hu_value_info *value = &graph->value[v];
        if (value->role == HU_VALUE_PARAMETER && value->turn == turn) total += value->elements;
    }
    return total;
}

int64_t hu_node_macs(const hu_graph *graph, const hu_node *node) {
    hu_node_info info = hu_graph_node_info(node, 1, 1);
    const hu_loop *loop = hu_loop_of(graph, node);
    int64_t macs = node->op->macs ? node->op->macs(&info) : 0;
    return loop ? loop->steps * macs : macs;
}

/* Products of a network belong to it by their weights, and to its first application by being the
 * first that use them. */
int64_t hu_graph_turn_macs(const hu_graph *graph, int turn) {
    int64_t total = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const hu_node *node = &graph->node[n];
        const hu_value_info *weight = node->n_params > 0 ? &graph->value[node->param[0]] : NULL;
        if (weight && weight->turn == turn && graph->use[weight->uses[0]].node == n)
            total += hu_node_macs(graph, node);
    }
    return total;
}

int64_t hu_graph_parameters(const hu_graph *graph) {
    int64_t total = 0;
    for (uint32_t v = 0; v < graph->value_count; v++)
        if (graph->value[v].role == HU_VALUE_PARAMETER) total += graph->value[v].elements;
    return total;
}

int64_t hu_graph_macs(const hu_graph *graph) {
    int64_t total = 0;
    for (int t = 0; t < graph->turn_count; t++) total += hu_graph_turn_macs(graph, t);
    for (uint32_t n = 0; n < graph->node_count && graph->turn_count == 0; n++)
        if (!graph->is_split || hu_node_runs(&graph->node[n], 1))
            total += hu_node_macs(graph, &graph->node[n]);
    return total;
}
