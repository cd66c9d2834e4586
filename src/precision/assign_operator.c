/* Low where matrix products read: FP8 training as usually done, and its variant that also keeps
 * what products write in 8 bits. Source: Lee et al., equation 2 and section 5. */
#include "precision/assign.h"
#include "precision/tensor_set.h"

/* The tensor whose numbers v shows. */
static hu_value_id shown(const hu_graph *graph, hu_value_id v) {
    const hu_op *op = hu_producer_op(graph, v);
    while (op && op->is_view) {
        v = graph->node[graph->value[v].producer].in[0];
        op = hu_producer_op(graph, v);
    }
    return v;
}

/* The node that ends the layer of a product: its bias where that is a node of its own. */
static const hu_node *layer_end(const hu_graph *graph, const hu_node *product) {
    hu_value_id out = product->out[0];
    if (!hu_is_inner_product(graph, out)) return product;
    return &graph->node[graph->use[graph->value[out].uses[0]].node];
}

static void set_parameters(const hu_node *node, bool is_low, hu_low_set *low) {
    for (int p = 0; p < node->n_params; p++) {
        low->value[node->param[p]] = is_low;
        low->gradient[node->param[p]] = is_low;
    }
}

/* Weights of the product, and the bias where that is a node of its own. */
static void set_layer_parameters(const hu_graph *graph, const hu_node *product, bool is_low,
                                 hu_low_set *low) {
    const hu_node *end = layer_end(graph, product);
    set_parameters(product, is_low, low);
    if (end != product) set_parameters(end, is_low, low);
}

static void set_tensor(hu_value_id v, bool is_low, hu_low_set *low) {
    low->value[v] = low->gradient[v] = is_low;
}

/* Factor i of a product among its inputs, HU_NONE: it is none, or weights. */
static hu_value_id input_factor(const hu_graph *graph, const hu_node *product, int i) {
    bool is_factor = i == 0 || (i == 1 && product->n_params == 0);
    return is_factor ? shown(graph, product->in[i]) : HU_NONE;
}

/* A product reads its input and its weights, or two inputs, forward, and the gradient of its output
 * backward. */
static void set_product(const hu_graph *graph, const hu_node *product, bool with_outputs,
                        hu_low_set *low) {
    hu_value_id out = layer_end(graph, product)->out[0];
    for (int i = 0; i < product->n_in; i++) {
        hu_value_id in = input_factor(graph, product, i);
        if (in == HU_NONE) continue;
        low->value[in] = true;
        if (with_outputs) low->gradient[in] = true;
    }
    set_layer_parameters(graph, product, true, low);
    low->gradient[out] = true;
    if (with_outputs) low->value[out] = true;
}

/* The first product keeps its input, weights and output high; everything from the last product's
 * input on is high. */
static void spare_ends(const hu_graph *graph, hu_low_set *low) {
    const hu_node *first = NULL, *last = NULL;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (!graph->node[n].op->is_product) continue;
        if (!first) first = &graph->node[n];
        last = &graph->node[n];
    }
    if (!first) return;
    set_tensor(shown(graph, first->in[0]), false, low);
    set_layer_parameters(graph, first, false, low);
    set_tensor(layer_end(graph, first)->out[0], false, low);
    set_tensor(shown(graph, last->in[0]), false, low);
    for (const hu_node *node = last; node < graph->node + graph->node_count; node++) {
        set_parameters(node, false, low);
        for (int i = 0; i < node->n_out; i++) set_tensor(node->out[i], false, low);
    }
}

static hu_status choose(const hu_assignment_task *task, bool with_outputs, hu_low_set *low) {
    const hu_graph *graph = task->graph;
    for (uint32_t n = 0; n < graph->node_count; n++)
        if (graph->node[n].op->is_product) set_product(graph, &graph->node[n], with_outputs, low);
    spare_ends(graph, low);
    return HU_OK;
}

static hu_status choose_inputs(const hu_assignment_task *task, hu_low_set *low) {
    return choose(task, false, low);
}

static hu_status choose_both(const hu_assignment_task *task, hu_low_set *low) {
    return choose(task, true, low);
}

const hu_assignment_kind hu_assignment_operator = {
    .name = "operator",
    .argument = "",
    .help = "low what matrix products read, but for the first and the last",
    .choose = choose_inputs};
const hu_assignment_kind hu_assignment_operator_out = {
    .name = "operator-out",
    .argument = "",
    .help = "low what matrix products read and write, but for the first and the last",
    .choose = choose_both};
