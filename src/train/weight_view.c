#include "train/weight_view.h"

/* Only products differ from torch: it stores [out, in, kh, kw] where this program has [out, kh,
 * kw, in]. */
hu_weight_view hu_weight_view_of(const hu_graph *graph, hu_value_id v, hu_weight_layout layout) {
    const hu_value_info *value = &graph->value[v];
    const hu_node *node = &graph->node[graph->use[value->uses[0]].node];
    const int64_t *extent = value->shape.extent, *in = node->shapes[0].extent;
    hu_weight_view view = {value->shape, 1, 1, value->elements};
    if (layout == HU_WEIGHTS_HALFULP) return view;
    if (node->op == &hu_op_conv2d && value->shape.rank == 4) {
        view.shape = (hu_shape){4, {extent[0], extent[3], extent[1], extent[2]}};
        view.places = extent[1] * extent[2];
        view.channels = extent[3];
        view.outer = extent[0];
    } else if (node->op == &hu_op_linear && value->shape.rank == 2 && node->shapes[0].rank == 3) {
        view.places = in[0] * in[1];
        view.channels = in[2];
        view.outer = extent[0];
    }
    return view;
}

void hu_weight_turn_out(const hu_weight_view *view, const float *here, float *there) {
    for (int64_t o = 0; o < view->outer; o++)
        for (int64_t c = 0; c < view->channels; c++)
            for (int64_t p = 0; p < view->places; p++)
                *there++ = here[(o * view->places + p) * view->channels + c];
}

void hu_weight_turn_in(const hu_weight_view *view, const float *there, float *here) {
    for (int64_t o = 0; o < view->outer; o++)
        for (int64_t c = 0; c < view->channels; c++)
            for (int64_t p = 0; p < view->places; p++)
                here[(o * view->places + p) * view->channels + c] = *there++;
}
