#include "model/internal.h"

#include <math.h>
#include <stdio.h>

#include "graph/graph.h"
#include "op/attributes.h"

enum { LSTM_GATES = 4, GRU_PARTS = 3, NAME_BYTES = 128 };

/* What all nodes of a layer need. */
typedef struct layer {
    hu_builder *b;
    const hu_recurrent_form *form;
} layer;

static void name_of(const layer *l, const char *name, char *full) {
    snprintf(full, NAME_BYTES, "%s%s.%s", l->form->layer, l->form->suffix, name);
}

static hu_value_id node(const layer *l, const char *name, const hu_op *op, int n_in,
                        const hu_value_id *in) {
    char full[NAME_BYTES];
    name_of(l, name, full);
    return hu_build_node(l->b, op, full, NULL, NULL, n_in, in);
}

/* A product of every row, with its bias. Its parameters are called LAYER.weight_KIND and bias_KIND,
 * the suffix after; torch draws all of a layer within 1 / sqrt(hidden). */
static hu_value_id product(const layer *l, const char *name, const char *kind, hu_value_id in,
                           int64_t out, bool has_bias) {
    char full[NAME_BYTES], prefix[NAME_BYTES];
    const hu_init init = {HU_INIT_UNIFORM, 1.0f / sqrtf((float)l->form->hidden)};
    const hu_linear_attrs attrs = {.out_features = out,
                                   .rows = true,
                                   .has_bias = has_bias,
                                   .weight_init = init,
                                   .bias_init = init};
    name_of(l, name, full);
    snprintf(prefix, sizeof prefix, "%s.*_%s%s", l->form->layer, kind, l->form->suffix);
    return hu_build_node(l->b, &hu_op_linear, full, prefix, &attrs, 1, &in);
}

static void begin(const layer *l, hu_value_id in) {
    hu_builder *b = l->b;
    if (b->status == HU_OK)
        b->status = hu_graph_loop(b->graph, b->graph->value[in].shape.extent[0], l->form->lengths);
}

static hu_value_id usual_start(const layer *l, const char *name, int64_t numbers) {
    char full[NAME_BYTES];
    const hu_zeros_attrs attrs = {.numbers = numbers};
    name_of(l, name, full);
    const hu_op *op = l->form->is_carried ? &hu_op_carried : &hu_op_zeros;
    return hu_build_node(l->b, op, full, NULL, &attrs, 0, NULL);
}

/* What a layer starts as; declared in front of its loop. */
static hu_recurrent_state started(const layer *l, hu_recurrent_state start, bool has_cell) {
    int64_t hidden = l->form->projection ? l->form->projection : l->form->hidden;
    if (start.hidden == HU_NONE) start.hidden = usual_start(l, "hidden.start", hidden);
    if (has_cell && start.cell == HU_NONE)
        start.cell = usual_start(l, "cell.start", l->form->hidden);
    return start;
}

static hu_value_id state(const layer *l, const char *name, hu_value_id start) {
    char full[NAME_BYTES];
    hu_value_id value = HU_NONE;
    name_of(l, name, full);
    if (l->b->status == HU_OK) l->b->status = hu_graph_state(l->b->graph, full, start, &value);
    return value;
}

static void next(const layer *l, hu_value_id before, hu_value_id value) {
    if (l->b->status == HU_OK) l->b->status = hu_graph_next(l->b->graph, before, value);
}

static void end(const layer *l) {
    if (l->b->status == HU_OK) l->b->status = hu_graph_end_loop(l->b->graph);
}

/* Output i of the node that makes a value. */
static hu_value_id output(const layer *l, hu_value_id first, int i) {
    const hu_graph *graph = l->b->graph;
    return l->b->status == HU_OK ? graph->node[graph->value[first].producer].out[i] : HU_NONE;
}

/* From the inputs' product of a step to its hidden state; *cell: its cell state. */
static hu_value_id lstm_cell(const layer *l, hu_value_id xgates, hu_recurrent_state previous,
                             hu_value_id *cell) {
    enum { I, F, G, O };
    int64_t gates = LSTM_GATES * l->form->hidden, projection = l->form->projection;
    hu_value_id pair[2] = {xgates};
    pair[1] = product(l, "hgates", "hh", previous.hidden, gates, !l->form->has_one_bias);
    hu_value_id sum = node(l, "gates", &hu_op_add, 2, pair);
    hu_value_id first = node(l, "gate", &hu_op_lstm_gates, 1, &sum);
    const hu_value_id terms[] = {output(l, first, F), previous.cell, first, output(l, first, G)};
    *cell = node(l, "cell", &hu_op_sum_of_products, 4, terms);
    pair[0] = output(l, first, O);
    pair[1] = node(l, "tanh", &hu_op_tanh, 1, cell);
    hu_value_id hidden = node(l, "hidden", &hu_op_mul, 2, pair);
    if (projection) hidden = product(l, "projected", "hr", hidden, projection, false);
    next(l, previous.hidden, hidden);
    next(l, previous.cell, *cell);
    return hidden;
}

hu_recurrent_state hu_build_lstm_states(hu_builder *b, const hu_recurrent_form *form,
                                        hu_recurrent_state start) {
    const layer l = {b, form};
    hu_recurrent_state previous = {.hidden = state(&l, "hidden.previous", start.hidden)};
    previous.cell = state(&l, "cell.previous", start.cell);
    return previous;
}

hu_value_id hu_build_lstm_step(hu_builder *b, const hu_recurrent_form *form, hu_value_id in,
                               hu_recurrent_state previous) {
    const layer l = {b, form};
    hu_value_id cell;
    return lstm_cell(&l, product(&l, "xgates", "ih", in, LSTM_GATES * form->hidden, true), previous,
                     &cell);
}

hu_value_id hu_build_lstm(hu_builder *b, const hu_recurrent_form *form, hu_value_id in,
                          hu_recurrent_state start, hu_value_id *cells) {
    const layer l = {b, form};
    hu_value_id cell;
    start = started(&l, start, true);
    hu_value_id xgates = product(&l, "xgates", "ih", in, LSTM_GATES * form->hidden, true);
    begin(&l, in);
    hu_value_id hidden =
        lstm_cell(&l, xgates, hu_build_lstm_states(b, form, start), cells ? cells : &cell);
    end(&l);
    return hidden;
}

hu_value_id hu_build_gru(hu_builder *b, const hu_recurrent_form *form, hu_value_id in,
                         hu_recurrent_state start) {
    const layer l = {b, form};
    start = started(&l, start, false);
    hu_value_id gates[3] = {product(&l, "xgates", "ih", in, GRU_PARTS * form->hidden, true)};
    begin(&l, in);
    hu_value_id h = state(&l, "hidden.previous", start.hidden);
    gates[1] = product(&l, "hgates", "hh", h, GRU_PARTS * form->hidden, true);
    hu_value_id reset = node(&l, "gate", &hu_op_gru_gates, 2, gates);
    gates[2] = reset;
    hu_value_id candidate = node(&l, "candidate", &hu_op_gru_candidate, 3, gates);
    const hu_value_id mix[] = {candidate, h, output(&l, reset, 1)};
    hu_value_id hidden = node(&l, "hidden", &hu_op_blend, 3, mix);
    next(&l, h, hidden);
    end(&l);
    return hidden;
}

static hu_value_id one_way(hu_builder *b, const hu_recurrent_form *form, hu_recurrent_kind kind,
                           hu_value_id in) {
    const hu_recurrent_state zero = {HU_NONE, HU_NONE};
    return kind == HU_RECURRENT_GRU ? hu_build_gru(b, form, in, zero)
                                    : hu_build_lstm(b, form, in, zero, NULL);
}

static hu_value_id turned(const layer *l, const char *name, hu_value_id in) {
    const hu_value_id reads[2] = {in, l->form->lengths};
    return node(l, name, &hu_op_reverse, l->form->lengths == HU_NONE ? 1 : 2, reads);
}

hu_value_id hu_build_both_ways(hu_builder *b, const hu_recurrent_form *form, hu_recurrent_kind kind,
                               hu_value_id in) {
    char suffix[NAME_BYTES];
    hu_recurrent_form back = *form;
    const layer ahead = {b, form}, behind = {b, &back};
    snprintf(suffix, sizeof suffix, "%s_reverse", form->suffix);
    back.suffix = suffix;
    hu_value_id ways[2] = {one_way(b, form, kind, in)};
    ways[1] = one_way(b, &back, kind, turned(&behind, "turned", in));
    ways[1] = turned(&behind, "back", ways[1]);
    return node(&ahead, "both", &hu_op_concat, 2, ways);
}
