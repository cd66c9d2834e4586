#include "graph/tensor_order.h"

#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "graph/graph.h"

static void put(hu_tensor_order *walk, hu_tensor_kind kind, hu_value_id v) {
    if (walk->place[kind][v] != HU_NONE) return;
    walk->place[kind][v] = walk->count;
    walk->tensor[walk->count++] = (hu_tensor){kind, v};
}

/* What one step of a recurrence hands to the next comes after the step that reads it. */
static bool is_handed_on(const hu_node *node, int i) {
    return node->op->is_previous && i == HU_STATE_NEXT;
}

/* The node of the lowest number whose backward part brings a gradient of the value; a state that
 * does so for the next step only where nobody else does. */
static uint32_t last_to_bring(const hu_graph *graph, hu_value_id v) {
    const hu_value_info *value = &graph->value[v];
    uint32_t of_state = HU_NONE;
    for (uint32_t k = 0; k < value->use_count; k++) {
        const hu_use *use = &graph->use[value->uses[k]];
        if (!hu_use_has_gradient(graph, value->uses[k])) continue;
        if (!is_handed_on(&graph->node[use->node], use->index)) return use->node;
        of_state = use->node;
    }
    return of_state;
}

/* Running statistics are made by all nodes that move them, the last one closes them. */
static bool is_made(const hu_graph *graph, hu_value_id v, uint32_t node) {
    const hu_value_info *value = &graph->value[v];
    if (value->role != HU_VALUE_BUFFER) return true;
    for (uint32_t k = 0; k < value->use_count; k++)
        if (graph->use[value->uses[k]].node > node) return false;
    return true;
}

/* Operands of a product are rounded right before it. */
static void put_operands(hu_tensor_order *walk, const hu_node *node, hu_product_role role) {
    for (int o = 2 * (int)role; node->op->rounds_operands && o < 2 * (int)role + 2; o++)
        put(walk, (hu_tensor_kind)(HU_TENSOR_OPERAND + o), node->out[0]);
}

static void walk_forward(hu_tensor_order *walk, unsigned more) {
    const hu_graph *graph = walk->graph;
    for (uint32_t i = 0; i < graph->loaded_count; i++) put(walk, HU_TENSOR_VALUE, graph->loaded[i]);
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const hu_node *node = &graph->node[n];
        for (int j = 0; j < node->n_params; j++)
            if (is_made(graph, node->param[j], n)) put(walk, HU_TENSOR_VALUE, node->param[j]);
        if (more & HU_WALK_OPERANDS) put_operands(walk, node, HU_PRODUCT_FORWARD);
        for (int i = 0; i < node->n_out; i++) put(walk, HU_TENSOR_VALUE, node->out[i]);
    }
}

/* A product's sum is read apart where its parameters have gradients. */
static void put_sums(hu_tensor_order *walk, const hu_node *node, unsigned more) {
    bool is_apart = (more & HU_WALK_WEIGHTS) && node->op->is_product && node->n_params > 0;
    for (int i = 0; i < node->n_out && node->loss < 0; i++) {
        put(walk, HU_TENSOR_SUM, node->out[i]);
        if (is_apart) put(walk, HU_TENSOR_WEIGHTS, node->out[i]);
    }
}

static void walk_backward(hu_tensor_order *walk, unsigned more) {
    const hu_graph *graph = walk->graph;
    for (uint32_t n = graph->node_count; n-- > 0;) {
        const hu_node *node = &graph->node[n];
        if (!node->needs_backward) continue;
        put_sums(walk, node, more);
        for (int r = HU_PRODUCT_INPUT_GRAD; (more & HU_WALK_OPERANDS) && r < HU_PRODUCT_ROLES; r++)
            put_operands(walk, node, (hu_product_role)r);
        for (int k = 0; k < node->n_in + node->n_params; k++) {
            hu_value_id v = graph->use[node->first_use + (uint32_t)k].value;
            if (last_to_bring(graph, v) != n) continue;
            put(walk, HU_TENSOR_GRADIENT, v);
            if (hu_is_summed_parameter(graph, v)) put(walk, HU_TENSOR_SUM, v);
        }
    }
}

/* Gradients travel in the order in which they are made. */
static void walk_wire(hu_tensor_order *walk) {
    uint32_t made = walk->count;
    for (uint32_t i = 0; i < made; i++) {
        hu_tensor tensor = walk->tensor[i];
        bool is_trained = walk->graph->value[tensor.value].role == HU_VALUE_PARAMETER;
        if (tensor.kind != HU_TENSOR_GRADIENT || !is_trained) continue;
        put(walk, HU_TENSOR_WIRE, tensor.value);
        put(walk, HU_TENSOR_WIRE_SUM, tensor.value);
    }
}

/* The optimizer comes last, parameter by parameter in the order of their gradients. */
static void walk_state(hu_tensor_order *walk, hu_tensor_kind kind) {
    uint32_t made = walk->count;
    for (uint32_t i = 0; i < made; i++) {
        hu_tensor tensor = walk->tensor[i];
        bool is_trained = walk->graph->value[tensor.value].role == HU_VALUE_PARAMETER;
        if (tensor.kind == HU_TENSOR_GRADIENT && is_trained) put(walk, kind, tensor.value);
    }
}

hu_status hu_tensor_order_create(const hu_graph *graph, unsigned more, hu_tensor_order *walk) {
    hu_status st = HU_OK;
    void *block;
    *walk = (hu_tensor_order){.graph = graph};
    HU_TRY(HU_NEW_ARRAY(&walk->tensor, HU_TENSOR_KINDS * (size_t)graph->value_count));
    for (int kind = 0; kind < HU_TENSOR_KINDS; kind++) {
        HU_TRY(hu_alloc_array(graph->value_count, sizeof(uint32_t), &block));
        walk->place[kind] = block;
        for (hu_value_id v = 0; v < graph->value_count; v++) walk->place[kind][v] = HU_NONE;
    }
    walk_forward(walk, more);
    walk_backward(walk, more);
    if (more & HU_WALK_WIRE) walk_wire(walk);
    if (more & HU_WALK_MOMENTUM) walk_state(walk, HU_TENSOR_MOMENTUM);
    if (more & HU_WALK_SQUARES) walk_state(walk, HU_TENSOR_SQUARES);
done:
    if (st != HU_OK) hu_tensor_order_free(walk);
    return st;
}

void hu_tensor_order_free(hu_tensor_order *walk) {
    hu_free(walk->tensor);
    for (int kind = 0; kind < HU_TENSOR_KINDS; kind++) hu_free(walk->place[kind]);
    *walk = (hu_tensor_order){0};
}

/* Of a value that no product makes, a name that no tensor has. */
static void operand_name(const hu_graph *graph, hu_tensor tensor, char *name) {
    const char *operand = hu_operand_name(hu_tensor_operand(tensor));
    uint32_t p = graph->value[tensor.value].producer;
    char layer[HU_NAME_BYTES] = "";
    if (p != HU_NONE && graph->node[p].op->rounds_operands)
        hu_graph_layer_name(graph, &graph->node[p], layer);
    snprintf(name, HU_TENSOR_NAME_BYTES, "%s.%s", layer, operand);
}

void hu_tensor_name(const hu_graph *graph, hu_tensor tensor, char *name) {
    static const char *const suffix[] = {
        "",           ".grad",          ".grad.sum", ".grad.weights",
        ".grad.wire", ".grad.wire.sum", ".momentum", ".squares"};
    if (hu_tensor_is_operand(tensor)) {
        operand_name(graph, tensor, name);
        return;
    }
    snprintf(name, HU_TENSOR_NAME_BYTES, "%s%s", graph->value[tensor.value].name,
             suffix[tensor.kind]);
}

const hu_edge *hu_tensor_state(const hu_edge_table *edges, hu_tensor tensor) {
    return &edges->state[tensor.kind - HU_TENSOR_MOMENTUM][tensor.value];
}

static const hu_node_products *products_of(const hu_graph *graph, const hu_edge_table *edges,
                                           hu_tensor operand) {
    return &edges->products[graph->value[operand.value].producer];
}

const hu_quantizer *hu_tensor_quantizer(const hu_graph *graph, const hu_edge_table *edges,
                                        hu_tensor tensor) {
    if (tensor.kind == HU_TENSOR_VALUE) return &edges->value[tensor.value].quantizer;
    if (tensor.kind == HU_TENSOR_SUM) return &edges->grad_sum[tensor.value].quantizer;
    if (tensor.kind == HU_TENSOR_WEIGHTS) return &edges->grad_weights[tensor.value].quantizer;
    if (tensor.kind == HU_TENSOR_WIRE) return &edges->wire[tensor.value].quantizer;
    if (tensor.kind == HU_TENSOR_WIRE_SUM) return &edges->wire_sum[tensor.value].quantizer;
    if (hu_tensor_is_state(tensor)) return &hu_tensor_state(edges, tensor)->quantizer;
    if (hu_tensor_is_operand(tensor))
        return &products_of(graph, edges, tensor)->operands.quantizer[hu_tensor_operand(tensor)];
    const hu_value_info *value = &graph->value[tensor.value];
    bool has_any = hu_contribution_count(graph, tensor.value) > 0;
    uint32_t use = has_any ? hu_contribution_use(graph, tensor.value, 0) : value->uses[0];
    return &edges->grad[use].quantizer;
}

hu_round_counts hu_tensor_counts(const hu_graph *graph, const hu_edge_table *edges,
                                 hu_tensor tensor) {
    const hu_value_info *value = &graph->value[tensor.value];
    hu_round_counts counts;
    if (tensor.kind == HU_TENSOR_VALUE) return edges->value[tensor.value].counts;
    if (tensor.kind == HU_TENSOR_SUM) return edges->grad_sum[tensor.value].counts;
    if (tensor.kind == HU_TENSOR_WEIGHTS) return edges->grad_weights[tensor.value].counts;
    if (tensor.kind == HU_TENSOR_WIRE) return edges->wire[tensor.value].counts;
    if (tensor.kind == HU_TENSOR_WIRE_SUM) return edges->wire_sum[tensor.value].counts;
    if (hu_tensor_is_state(tensor)) return hu_tensor_state(edges, tensor)->counts;
    if (hu_tensor_is_operand(tensor))
        return products_of(graph, edges, tensor)->rounded[hu_tensor_operand(tensor)];
    hu_round_counts_clear(&counts);
    for (uint32_t k = 0; k < value->use_count; k++)
        hu_round_counts_add(&counts, &edges->grad[value->uses[k]].counts);
    return counts;
}

/* ---- what a tensor is made of ---- */

typedef struct list {
    const hu_tensor_order *walk;
    uint32_t *source;
    uint32_t room, count;
} list;

static void add(list *sources, hu_tensor_kind kind, hu_value_id v) {
    uint32_t place = sources->walk->place[kind][v];
    if (place == HU_NONE) return;
    if (sources->count < sources->room) sources->source[sources->count] = place;
    sources->count++;
}

/* Operands of the products of a pass, where they are rounded. */
static void add_operands(list *sources, const hu_node *node, bool is_backward) {
    for (int o = 0; node->op->rounds_operands && o < HU_OPERANDS; o++)
        if ((hu_operand_role((hu_operand_place)o) != HU_PRODUCT_FORWARD) == is_backward)
            add(sources, (hu_tensor_kind)(HU_TENSOR_OPERAND + o), node->out[0]);
}

static void add_reads(list *sources, const hu_node *node) {
    for (int i = 0; i < node->n_in; i++)
        if (!is_handed_on(node, i)) add(sources, HU_TENSOR_VALUE, node->in[i]);
    for (int j = 0; j < node->n_params; j++) {
        bool is_buffer = sources->walk->graph->value[node->param[j]].role == HU_VALUE_BUFFER;
        if (!is_buffer) add(sources, HU_TENSOR_VALUE, node->param[j]);
    }
}

/* The gradients that the backward part of a node reads. */
static void add_gradients(list *sources, const hu_node *node) {
    /* What is read apart reaches the parameters alone, whose gradients come from the same sums. */
    for (int i = 0; i < node->n_out; i++) {
        bool has_sum = sources->walk->place[HU_TENSOR_SUM][node->out[i]] != HU_NONE;
        add(sources, HU_TENSOR_GRADIENT, node->out[i]);
        if (has_sum) add(sources, HU_TENSOR_SUM, node->out[i]);
    }
}

/* What a value is made of, and what the backward part of a node reads: what was rounded last comes
 * first. */
static void add_made(list *sources, const hu_node *node) {
    add_operands(sources, node, false);
    add_reads(sources, node);
}

static void add_brought(list *sources, const hu_node *node) {
    add_operands(sources, node, true);
    add_gradients(sources, node);
}

/* Running statistics follow what their node reads. */
static void add_statistics(list *sources, const hu_value_info *value) {
    for (uint32_t k = 0; k < value->use_count; k++) {
        const hu_node *node =
            &sources->walk->graph->node[sources->walk->graph->use[value->uses[k]].node];
        for (int i = 0; i < node->n_in; i++) add(sources, HU_TENSOR_VALUE, node->in[i]);
    }
}

/* State of the optimizer is made of the gradient that the update reads. */
static void add_update(list *sources, hu_value_id v) {
    static const hu_tensor_kind read[] = {HU_TENSOR_WIRE_SUM, HU_TENSOR_SUM, HU_TENSOR_GRADIENT};
    for (size_t i = 0; i < sizeof read / sizeof *read && sources->count == 0; i++)
        add(sources, read[i], v);
}

/* An operand is rounded from the input, the weights, or the gradient of the output. */
static void add_operand(list *sources, hu_tensor tensor) {
    const hu_graph *graph = sources->walk->graph;
    const hu_node *node = &graph->node[graph->value[tensor.value].producer];
    switch (hu_tensor_operand(tensor)) {
    case HU_OPERAND_FORWARD_X:
    case HU_OPERAND_WEIGHT_GRAD_X:
        add(sources, HU_TENSOR_VALUE, node->in[0]);
        break;
    case HU_OPERAND_FORWARD_W:
    case HU_OPERAND_INPUT_GRAD_W:
        add(sources, HU_TENSOR_VALUE, node->param[0]);
        break;
    default:
        add_gradients(sources, node);
    }
}

uint32_t hu_tensor_order_sources(const hu_tensor_order *walk, uint32_t place, uint32_t room,
                                 uint32_t *source) {
    const hu_graph *graph = walk->graph;
    hu_tensor tensor = walk->tensor[place];
    const hu_value_info *value = &graph->value[tensor.value];
    list sources = {walk, source, room, 0};
    bool has_sum = walk->place[HU_TENSOR_SUM][tensor.value] != HU_NONE;
    if (tensor.kind == HU_TENSOR_SUM || tensor.kind == HU_TENSOR_WEIGHTS)
        add(&sources, HU_TENSOR_GRADIENT, tensor.value);
    if (tensor.kind == HU_TENSOR_WIRE)
        add(&sources, has_sum ? HU_TENSOR_SUM : HU_TENSOR_GRADIENT, tensor.value);
    if (tensor.kind == HU_TENSOR_WIRE_SUM) add(&sources, HU_TENSOR_WIRE, tensor.value);
    if (hu_tensor_is_state(tensor)) add_update(&sources, tensor.value);
    if (hu_tensor_is_operand(tensor)) add_operand(&sources, tensor);
    if (tensor.kind == HU_TENSOR_VALUE && value->producer != HU_NONE)
        add_made(&sources, &graph->node[value->producer]);
    if (tensor.kind == HU_TENSOR_VALUE && value->role == HU_VALUE_BUFFER)
        add_statistics(&sources, value);
    for (int phase = 0; tensor.kind == HU_TENSOR_GRADIENT && phase < 2; phase++)
        for (uint32_t k = 0; k < value->use_count; k++) {
            const hu_node *node = &graph->node[graph->use[value->uses[k]].node];
            if (!hu_use_has_gradient(graph, value->uses[k])) continue;
            if (phase == 0 && !is_handed_on(node, graph->use[value->uses[k]].index))
                add_brought(&sources, node);
            else if (phase == 1)
                add_reads(&sources, node);
        }
    return sources.count;
}

/* ---- Which products make a tensor ---- */

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
