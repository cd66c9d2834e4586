/* The graph as others ask about it; build.c declares it, finalize.c closes it. */
#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

hu_status hu_graph_create(hu_graph **graph) {
    void *block;
    hu_status st = hu_alloc(sizeof **graph, &block);
    *graph = block;
    if (st == HU_OK) (*graph)->made = (*graph)->wanted = HU_NONE;
    return st;
}

static void free_node(hu_node *node) {
    hu_free(node->name);
    hu_free(node->attrs);
    hu_free(node->in);
    hu_free(node->out);
    hu_free(node->param);
    hu_free(node->need_din);
    hu_free(node->need_dparam);
    hu_free(node->shapes);
}

void hu_graph_free(hu_graph *graph) {
    if (!graph) return;
    for (uint32_t v = 0; v < graph->value_count; v++) {
        hu_free(graph->value[v].name);
        hu_free(graph->value[v].uses);
    }
    for (uint32_t n = 0; n < graph->node_count; n++) free_node(&graph->node[n]);
    hu_name_table_free(&graph->names);
    hu_free(graph->loaded);
    hu_free(graph->loop);
    hu_free(graph->value);
    hu_free(graph->node);
    hu_free(graph->use);
    hu_free(graph);
}

bool hu_use_has_gradient(const hu_graph *graph, uint32_t use) {
    const hu_use *u = &graph->use[use];
    const hu_node *node = &graph->node[u->node];
    return u->index < node->n_in ? node->need_din[u->index]
                                 : node->need_dparam[u->index - node->n_in];
}

uint32_t hu_contribution_count(const hu_graph *graph, hu_value_id v) {
    const hu_value_info *value = &graph->value[v];
    uint32_t count = 0;
    for (uint32_t k = 0; k < value->use_count; k++)
        count += hu_use_has_gradient(graph, value->uses[k]);
    return count;
}

uint32_t hu_contribution_use(const hu_graph *graph, hu_value_id v, uint32_t k) {
    const hu_value_info *value = &graph->value[v];
    uint32_t i = 0;
    while (!hu_use_has_gradient(graph, value->uses[i]) || k-- > 0) i++;
    return value->uses[i];
}

bool hu_is_summed_parameter(const hu_graph *graph, hu_value_id v) {
    return graph->value[v].role == HU_VALUE_PARAMETER && hu_contribution_count(graph, v) > 1;
}

hu_value_id hu_graph_find(const hu_graph *graph, const char *name) {
    const hu_name_entry *entry = hu_name_table_find(&graph->names, name);
    return entry ? entry->id : HU_NONE;
}

void hu_graph_layer_name(const hu_graph *graph, const hu_node *node, char *layer) {
    static const char suffix[] = ".weight";
    const hu_value_info *weight = node->n_params > 0 ? &graph->value[node->param[0]] : NULL;
    bool is_own =
        weight && (!weight->uses || &graph->node[graph->use[weight->uses[0]].node] == node);
    const char *name = is_own ? weight->name : node->name;
    snprintf(layer, HU_NAME_BYTES, "%s", name);
    size_t length = strlen(layer), tail = sizeof suffix - 1;
    if (length > tail && strcmp(layer + length - tail, suffix) == 0) layer[length - tail] = '\0';
}

const char *hu_product_role_name(hu_product_role role) {
    static const char *const names[] = {"forward", "input_grad", "weight_grad"};
    return names[role];
}

hu_node_info hu_graph_node_info(const hu_node *node, int64_t chunk, int threads) {
    return (hu_node_info){.attrs = node->attrs,
                          .name = node->name,
                          .n_in = node->n_in,
                          .n_out = node->n_out,
                          .n_params = node->n_params,
                          .in = node->shapes,
                          .out = node->shapes + node->n_in,
                          .param = node->shapes + node->n_in + node->n_out,
                          .need_din = node->need_din,
                          .chunk = chunk,
                          .threads = threads};
}

hu_value_id hu_graph_loss_target(const hu_graph *graph, int loss) {
    const hu_node *node = &graph->node[graph->loss[loss].node];
    bool has_target = node->n_in > 1 && graph->value[node->in[1]].role == HU_VALUE_TARGET;
    return has_target ? node->in[1] : HU_NONE;
}

int64_t hu_graph_count_units(const hu_graph *graph, int loss, int64_t count, const float *target,
                             hu_round_counts *counts) {
    const hu_node *node = &graph->node[graph->loss[loss].node];
    hu_node_info info = hu_graph_node_info(node, count, 1);
    if (!node->op->check_target || hu_graph_loss_target(graph, loss) == HU_NONE) return count;
    return node->op->check_target(&info, count, target, counts);
}
