#include "train/weight_view.h"

#include "op/geometry.h"

/* The node that alone reads a value, NULL if there is none or there are several. */
static const hu_node *only_reader(const hu_graph *graph, hu_value_id v) {
    const hu_value_info *value = &graph->value[v];
    return value->use_count == 1 ? &graph->node[graph->use[value->uses[0]].node] : NULL;
}

/* Does a linear layer read or make an image as one vector? One of rows does not. */
static bool is_flat(const hu_node *node) {
    return node->op == &hu_op_linear && !((const hu_linear_attrs *)node->attrs)->rows;
}

/* The image that a linear layer makes: its output, with the bias behind it, seen as [height, width,
 * channels]; NULL if it is not. */
static const hu_shape *image_of(const hu_graph *graph, const hu_node *node) {
    if (node->op == &hu_op_linear) {
        const hu_node *next = only_reader(graph, node->out[0]);
        if (next && next->op == &hu_op_bias) node = next;
    }
    const hu_node *seen = only_reader(graph, node->out[0]);
    if (!seen || seen->op != &hu_op_reshape) return NULL;
    const hu_shape *shape = &graph->value[seen->out[0]].shape;
    return shape->rank == 3 ? shape : NULL;
}

static hu_weight_side side_of(const hu_shape *image) {
    return (hu_weight_side){image->extent[0] * image->extent[1], image->extent[2]};
}

/* Linear layers and biases of rows: that of an image has one number for each channel. */
static void turn_image(const hu_graph *graph, const hu_node *node, hu_weight_view *view) {
    const hu_shape *made = image_of(graph, node), *read = &node->shapes[0];
    if (made && (is_flat(node) || read->rank == 1)) view->row = side_of(made);
    if (is_flat(node) && read->rank == 3) view->column = side_of(read);
}

/* Only products and their biases differ from torch: it stores [out, in, kh, kw] where this program
 * has [out, kh, kw, in]. */
hu_weight_view hu_weight_view_of(const hu_graph *graph, hu_value_id v, hu_weight_layout layout) {
    const hu_value_info *value = &graph->value[v];
    const hu_node *node = &graph->node[graph->use[value->uses[0]].node];
    const int64_t *extent = value->shape.extent;
    int64_t rows = value->shape.rank > 0 ? extent[0] : 1;
    hu_weight_view view = {value->shape, {rows, 1}, {value->elements / rows, 1}};
    if (layout == HU_WEIGHTS_HALFULP) return view;
    if (node->op == &hu_op_conv2d && value->shape.rank == 4) {
        view.shape = (hu_shape){4, {extent[0], extent[3], extent[1], extent[2]}};
        view.column = (hu_weight_side){extent[1] * extent[2], extent[3]};
    }
    bool is_matrix = is_flat(node) && value->shape.rank == 2;
    if (is_matrix || node->op == &hu_op_bias) turn_image(graph, node, &view);
    return view;
}

/* The number here that comes next in the file, which has channels first. */
typedef struct cursor {
    int64_t place, channel;
} cursor;

static int64_t take_next(cursor *at, const hu_weight_side *side) {
    int64_t here = at->place * side->channels + at->channel;
    if (++at->place == side->places) *at = (cursor){0, at->channel + 1};
    return here;
}

/* Goes through a tensor in the order of the file, out of this program or into it. */
static void turn(const hu_weight_view *view, const float *from, float *to, bool out) {
    int64_t rows = view->row.places * view->row.channels;
    int64_t columns = view->column.places * view->column.channels;
    cursor row = {0, 0};
    for (int64_t r = 0; r < rows; r++) {
        int64_t first = take_next(&row, &view->row) * columns;
        cursor column = {0, 0};
        for (int64_t k = 0; k < columns; k++) {
            int64_t here = first + take_next(&column, &view->column), there = r * columns + k;
            if (out)
                to[there] = from[here];
            else
                to[here] = from[there];
        }
    }
}

void hu_weight_turn_out(const hu_weight_view *view, const float *here, float *there) {
    turn(view, here, there, true);
}

void hu_weight_turn_in(const hu_weight_view *view, const float *there, float *here) {
    turn(view, there, here, false);
}
