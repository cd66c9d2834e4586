#include "train/weight_view.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "op/geometry.h"
#include "train/vector_order.h"

struct hu_weight_views {
    const hu_graph *graph;
    hu_vector_orders *orders; /* NULL: nothing is turned */
};

hu_status hu_weight_views_create(const hu_graph *graph, hu_weight_layout layout,
                                 hu_weight_views **result) {
    hu_status st;
    *result = NULL;
    HU_TRY(HU_NEW(result));
    (*result)->graph = graph;
    if (layout == HU_WEIGHTS_TORCH) HU_TRY(hu_vector_orders_create(graph, &(*result)->orders));
done:
    if (st != HU_OK) {
        hu_weight_views_free(*result);
        *result = NULL;
    }
    return st;
}

void hu_weight_views_free(hu_weight_views *views) {
    if (views) hu_vector_orders_free(views->orders);
    hu_free(views);
}

static const hu_node *reader_of(const hu_graph *graph, uint32_t use) {
    return &graph->node[graph->use[use].node];
}

/* Is the value the weight [out, kh, kw, in / groups] of a convolution? */
static bool is_kernel(const hu_graph *graph, hu_value_id v) {
    const hu_value_info *value = &graph->value[v];
    return reader_of(graph, value->uses[0])->op == &hu_op_conv2d && value->shape.rank == 4;
}

hu_shape hu_weight_shape(const hu_weight_views *views, hu_value_id v) {
    const hu_shape *here = &views->graph->value[v].shape;
    if (!views->orders || !is_kernel(views->graph, v)) return *here;
    const int64_t *extent = here->extent;
    return (hu_shape){4, {extent[0], extent[3], extent[1], extent[2]}};
}

/* order: [count] a copy of it; NULL where it is NULL. */
static hu_status copy_order(const int64_t *order, int64_t count, int64_t **copy) {
    *copy = NULL;
    if (!order) return HU_OK;
    hu_status st = HU_NEW_ARRAY(copy, (size_t)count);
    if (st == HU_OK) memcpy(*copy, order, (size_t)count * sizeof *order);
    return st;
}

/* Columns of a kernel: [places, channels] here, the channels in an order of their own or NULL;
 * channels first there. */
static hu_status turn_kernel(const hu_shape *kernel, const int64_t *order, int64_t **column) {
    int64_t places = kernel->extent[1] * kernel->extent[2], channels = kernel->extent[3];
    hu_status st = HU_NEW_ARRAY(column, (size_t)(places * channels));
    if (st != HU_OK) return st;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t p = 0; p < places; p++)
            (*column)[c * places + p] = p * channels + (order ? order[c] : c);
    return HU_OK;
}

/* One side of a linear layer: an image that it reads as one vector, or a vector. */
static hu_status turn_side(const hu_shape *image, const int64_t *order, int64_t count,
                           int64_t **side) {
    if (!image) return copy_order(order, count, side);
    hu_status st = HU_NEW_ARRAY(side, (size_t)count);
    if (st == HU_OK) hu_image_order(image, *side);
    return st;
}

/* Of the weight of a product; what it reads has its columns, what it makes its rows; transposed,
 * the other way round. */
static hu_status turn_weight(const hu_weight_views *views, const hu_node *node,
                             hu_weight_view *view) {
    hu_status st;
    const int64_t *in, *out;
    const hu_graph *graph = views->graph;
    bool is_conv = node->op == &hu_op_conv2d;
    const hu_linear_attrs *linear = node->attrs;
    bool is_transposed =
        is_conv ? ((const hu_conv_attrs *)node->attrs)->transposed : linear->transposed;
    const hu_value_info *value = &graph->value[node->param[0]];
    const hu_shape *read = &graph->value[node->in[0]].shape;
    HU_TRY(hu_vector_order_of(views->orders, node->in[0], &in));
    HU_TRY(hu_vector_order_of(views->orders, node->out[0], &out));
    const int64_t *row = is_transposed ? in : out, *column = is_transposed ? out : in;
    if (is_conv) {
        HU_TRY(copy_order(row, view->rows, &view->row));
        return turn_kernel(&value->shape, column, &view->column);
    }
    bool reads_image = !linear->rows && read->rank == 3 && !hu_is_vector(read);
    const hu_shape *image = reads_image ? read : NULL;
    HU_TRY(turn_side(is_transposed ? NULL : image, column, view->columns, &view->column));
    HU_TRY(turn_side(is_transposed ? image : NULL, row, view->rows, &view->row));
done:
    return st;
}

/* As one use of the parameter asks for it. */
static hu_status turn_for(const hu_weight_views *views, uint32_t use, hu_weight_view *view) {
    const int64_t *order;
    const hu_node *node = reader_of(views->graph, use);
    bool is_product = node->op == &hu_op_conv2d || node->op == &hu_op_linear;
    bool is_weight = views->graph->use[use].index == node->n_in;
    if (is_product && is_weight) return turn_weight(views, node, view);
    hu_value_id out = node->out[0];
    bool is_long = view->columns == 1 && view->rows == views->graph->value[out].elements;
    if (!is_long || !(is_product || hu_is_by_element(node->op))) return HU_OK;
    hu_status st = hu_vector_order_of(views->orders, out, &order);
    return st == HU_OK ? copy_order(order, view->rows, &view->row) : st;
}

static bool is_same_order(const int64_t *a, const int64_t *b, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if ((a ? a[i] : i) != (b ? b[i] : i)) return false;
    return true;
}

/* What is used several times must stand in one order for all uses. */
static hu_status check_uses(const hu_weight_views *views, hu_value_id v,
                            const hu_weight_view *view) {
    const hu_value_info *value = &views->graph->value[v];
    for (uint32_t i = 1; i < value->use_count; i++) {
        hu_weight_view other = *view;
        other.row = other.column = NULL;
        hu_status st = turn_for(views, value->uses[i], &other);
        bool is_same = st == HU_OK && is_same_order(view->row, other.row, view->rows) &&
                       is_same_order(view->column, other.column, view->columns);
        hu_weight_view_free(&other);
        if (st != HU_OK) return st;
        if (!is_same)
            return hu_fail(HU_ERR_UNSUPPORTED,
                           "'%s' is used by '%s' and '%s', which a torch.nn module reads in two "
                           "orders; expected layout=halfulp",
                           value->name, reader_of(views->graph, value->uses[0])->name,
                           reader_of(views->graph, value->uses[i])->name);
    }
    return HU_OK;
}

hu_status hu_weight_view_create(const hu_weight_views *views, hu_value_id v, hu_weight_view *view) {
    const hu_value_info *value = &views->graph->value[v];
    int64_t rows = value->shape.rank > 0 ? value->shape.extent[0] : 1;
    *view = (hu_weight_view){
        .shape = hu_weight_shape(views, v), .rows = rows, .columns = value->elements / rows};
    if (!views->orders) return HU_OK;
    hu_status st = turn_for(views, value->uses[0], view);
    return st == HU_OK ? check_uses(views, v, view) : st;
}

void hu_weight_view_free(hu_weight_view *view) {
    hu_free(view->row);
    hu_free(view->column);
    view->row = view->column = NULL;
}

/* Goes through a tensor in the order of the file, out of this program or into it. */
static void turn(const hu_weight_view *view, const float *from, float *to, bool out) {
    for (int64_t r = 0; r < view->rows; r++) {
        int64_t first = (view->row ? view->row[r] : r) * view->columns;
        for (int64_t k = 0; k < view->columns; k++) {
            int64_t here = first + (view->column ? view->column[k] : k);
            int64_t there = r * view->columns + k;
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
