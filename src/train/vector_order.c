#include "train/vector_order.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "op/geometry.h"
#include "op/join.h"

/* Of vectors that are tied number by number; they share the one of their first. */
typedef struct order_class {
    hu_value_id first; /* towards the first of them */
    int64_t *order;    /* [elements]; NULL: nothing is asked for, or the same as here */
    bool is_fixed;     /* something reads or makes it whose order is the same in both */
    bool is_torn;      /* two orders were asked for */
} order_class;

struct hu_vector_orders {
    const hu_graph *graph;
    order_class *of; /* [value_count] */
};

bool hu_is_vector(const hu_shape *shape) {
    for (int i = 0; i + 1 < shape->rank; i++)
        if (shape->extent[i] != 1) return false;
    return shape->rank > 0 && shape->extent[shape->rank - 1] > 1;
}

static bool is_vector(const hu_graph *graph, hu_value_id v) {
    return hu_is_vector(&graph->value[v].shape);
}

static bool is_image(const hu_graph *graph, hu_value_id v) {
    return graph->value[v].shape.rank == 3 && !is_vector(graph, v);
}

void hu_image_order(const hu_shape *image, int64_t *order) {
    int64_t channels = image->extent[2], places = image->extent[0] * image->extent[1];
    for (int64_t c = 0; c < channels; c++)
        for (int64_t p = 0; p < places; p++) order[c * places + p] = p * channels + c;
}

static order_class *class_of(const hu_vector_orders *orders, hu_value_id v) {
    while (orders->of[v].first != v) v = orders->of[v].first;
    return &orders->of[v];
}

static bool is_same_as_here(const int64_t *order, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (order[i] != i) return false;
    return true;
}

/* Takes over the order, which was allocated. */
static void ask_for(const hu_vector_orders *orders, hu_value_id v, int64_t *order) {
    order_class *class = class_of(orders, v);
    int64_t count = orders->graph->value[v].elements;
    bool is_known = class->order && memcmp(class->order, order, (size_t)count * sizeof *order) == 0;
    if (is_same_as_here(order, count))
        class->is_fixed = true;
    else if (!class->order) {
        class->order = order;
        return;
    } else if (!is_known)
        class->is_torn = true;
    hu_free(order);
}

static void fix(const hu_vector_orders *orders, hu_value_id v) {
    if (is_vector(orders->graph, v)) class_of(orders, v)->is_fixed = true;
}

static void tie(const hu_vector_orders *orders, hu_value_id a, hu_value_id b) {
    order_class *to = class_of(orders, a), *from = class_of(orders, b);
    int64_t *order = from->order;
    if (to == from) return;
    from->first = to->first;
    from->order = NULL;
    to->is_fixed |= from->is_fixed;
    to->is_torn |= from->is_torn;
    if (order) ask_for(orders, a, order);
}

static hu_status ask_for_image(const hu_vector_orders *orders, hu_value_id v, hu_value_id image) {
    int64_t *order;
    hu_status st = HU_NEW_ARRAY(&order, (size_t)orders->graph->value[v].elements);
    if (st != HU_OK) return st;
    hu_image_order(&orders->graph->value[image].shape, order);
    ask_for(orders, v, order);
    return HU_OK;
}

/* Ops that do the same to every element of a vector, or to all of them together, and have one
 * number of a parameter for each. */
bool hu_is_by_element(const hu_op *op) {
    static const hu_op *const list[] = {&hu_op_bias,
                                        &hu_op_batch_norm,
                                        &hu_op_range_norm,
                                        &hu_op_layer_norm,
                                        &hu_op_l2_norm,
                                        &hu_op_relu,
                                        &hu_op_leaky_relu,
                                        &hu_op_clipped_relu,
                                        &hu_op_sigmoid,
                                        &hu_op_tanh,
                                        &hu_op_gelu,
                                        &hu_op_scale,
                                        &hu_op_add,
                                        &hu_op_mul,
                                        &hu_op_blend,
                                        &hu_op_dropout,
                                        &hu_op_log_softmax,
                                        &hu_op_sample_normal,
                                        &hu_op_mse,
                                        &hu_op_l1,
                                        &hu_op_bce,
                                        &hu_op_drop_path,
                                        NULL};
    for (size_t i = 0; list[i]; i++)
        if (op == list[i]) return true;
    return false;
}

/* Every vector of a node with the widest of them; vectors of another length have an order of their
 * own, which is the same as here. */
static void tie_elements(const hu_vector_orders *orders, const hu_node *node) {
    const hu_graph *graph = orders->graph;
    hu_value_id first = node->in[0];
    for (int i = 0; i < node->n_in + node->n_out; i++) {
        hu_value_id v = i < node->n_in ? node->in[i] : node->out[i - node->n_in];
        bool is_as_long = graph->value[v].elements == graph->value[first].elements;
        if (is_vector(graph, first) && is_vector(graph, v) && is_as_long)
            tie(orders, first, v);
        else
            fix(orders, v);
    }
}

/* A view: of a vector, of an image as a vector, of a vector as an image. */
static hu_status tie_view(const hu_vector_orders *orders, const hu_node *node) {
    const hu_graph *graph = orders->graph;
    hu_value_id in = node->in[0], out = node->out[0];
    bool from_vector = is_vector(graph, in), to_vector = is_vector(graph, out);
    if (from_vector && to_vector) {
        tie(orders, in, out);
    } else if (is_image(graph, in) && to_vector) {
        return ask_for_image(orders, out, in);
    } else if (from_vector && is_image(graph, out)) {
        return ask_for_image(orders, in, out);
    } else {
        fix(orders, in);
        fix(orders, out);
    }
    return HU_OK;
}

/* A product takes any order of what it reads and gives any: its weights are turned. In groups it
 * does not. */
static void tie_product(const hu_vector_orders *orders, const hu_node *node) {
    bool is_grouped = node->op == &hu_op_conv2d && ((const hu_conv_attrs *)node->attrs)->groups > 1;
    for (int i = 1; i < node->n_in; i++) fix(orders, node->in[i]);
    if (!is_grouped) return;
    fix(orders, node->in[0]);
    fix(orders, node->out[0]);
}

/* Vectors behind each other; where all are as here, so is the whole. */
static hu_status tie_joined(const hu_vector_orders *orders, const hu_node *node) {
    const hu_graph *graph = orders->graph;
    hu_value_id out = node->out[0];
    int64_t *order, first = 0;
    bool is_turned = false;
    for (int i = 0; i < node->n_in; i++)
        is_turned |= is_vector(graph, node->in[i]) && class_of(orders, node->in[i])->order;
    if (!is_turned || !is_vector(graph, out)) {
        for (int i = 0; i < node->n_in; i++) fix(orders, node->in[i]);
        fix(orders, out);
        return HU_OK;
    }
    hu_status st = HU_NEW_ARRAY(&order, (size_t)graph->value[out].elements);
    if (st != HU_OK) return st;
    for (int i = 0; i < node->n_in; i++) {
        int64_t count = graph->value[node->in[i]].elements;
        const int64_t *part = class_of(orders, node->in[i])->order;
        for (int64_t k = 0; k < count; k++) order[first + k] = first + (part ? part[k] : k);
        first += count;
        if (!part) fix(orders, node->in[i]);
    }
    ask_for(orders, out, order);
    return HU_OK;
}

static hu_status tie_node(const hu_vector_orders *orders, const hu_node *node) {
    if (node->op == &hu_op_flatten || node->op == &hu_op_reshape) return tie_view(orders, node);
    if (node->op == &hu_op_concat) return HU_OK; /* when all else is known */
    if (node->op == &hu_op_conv2d || node->op == &hu_op_linear)
        tie_product(orders, node);
    else if (hu_is_by_element(node->op))
        tie_elements(orders, node);
    else
        for (int i = 0; i < node->n_in + node->n_out; i++)
            fix(orders, i < node->n_in ? node->in[i] : node->out[i - node->n_in]);
    return HU_OK;
}

static hu_status tie_all(const hu_vector_orders *orders) {
    hu_status st = HU_OK;
    const hu_graph *graph = orders->graph;
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        orders->of[v].first = v;
        if (graph->value[v].producer == HU_NONE) orders->of[v].is_fixed = true;
    }
    for (uint32_t n = 0; n < graph->node_count; n++) HU_TRY(tie_node(orders, &graph->node[n]));
    for (uint32_t n = 0; n < graph->node_count; n++)
        if (graph->node[n].op == &hu_op_concat) HU_TRY(tie_joined(orders, &graph->node[n]));
done:
    return st;
}

hu_status hu_vector_orders_create(const hu_graph *graph, hu_vector_orders **result) {
    hu_status st;
    *result = NULL;
    HU_TRY(HU_NEW(result));
    (*result)->graph = graph;
    HU_TRY(HU_NEW_ARRAY(&(*result)->of, graph->value_count));
    HU_TRY(tie_all(*result));
done:
    if (st != HU_OK) {
        hu_vector_orders_free(*result);
        *result = NULL;
    }
    return st;
}

void hu_vector_orders_free(hu_vector_orders *orders) {
    if (!orders) return;
    for (hu_value_id v = 0; orders->of && v < orders->graph->value_count; v++)
        hu_free(orders->of[v].order);
    hu_free(orders->of);
    hu_free(orders);
}

hu_status hu_vector_order_of(const hu_vector_orders *orders, hu_value_id v, const int64_t **order) {
    const order_class *class = class_of(orders, v);
    *order = is_vector(orders->graph, v) ? class->order : NULL;
    if (!*order || !(class->is_torn || class->is_fixed)) return HU_OK;
    return hu_fail(HU_ERR_UNSUPPORTED,
                   "'%s' is an image seen as a vector, and beside it something whose numbers have "
                   "one order: no order of its weights gives a torch.nn module the same result; "
                   "expected layout=halfulp",
                   orders->graph->value[v].name);
}
