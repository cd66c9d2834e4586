#include "graph/internal.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* ---- ends ---- */

/* Which values have rows that are padding.
 *
 * A sample of length L has the rows 0 .. L-1 of a value [T, ..]. Four things say so: the graph's
 * maker, of what is loaded, and of what an op makes that knows nothing of it (hu_graph_end_rows); a
 * loop with lengths, of all that it makes; an op that reads how many rows there are
 * (hu_op.ends_by); and one that keeps rows (hu_op.keeps_rows), of what it makes of such a value: in
 * a loop of what a node holds, in every step.
 */

static hu_status refuse(const hu_graph *graph, hu_value_id value, const char *found) {
    return hu_fail(HU_ERR_ARGUMENT, "the rows of '%s' end by lengths: %s",
                   value < graph->value_count ? graph->value[value].name : "?", found);
}

static bool is_read(const hu_graph *graph, hu_value_id value) {
    for (uint32_t u = 0; u < graph->use_count; u++)
        if (graph->use[u].value == value) return true;
    return false;
}

/* True if a value is present when another is made or loaded. */
static bool is_there_before(const hu_value_info *first, const hu_value_info *value) {
    if (first->producer == HU_NONE) return true;
    return value->producer != HU_NONE && first->producer < value->producer;
}

hu_status hu_graph_end_rows(hu_graph *graph, hu_value_id value, hu_value_id lengths) {
    if (value >= graph->value_count || lengths >= graph->value_count)
        return refuse(graph, value, "found no such value");
    const hu_value_info *of = &graph->value[value], *end = &graph->value[lengths];
    bool is_activation = of->producer != HU_NONE && graph->node[of->producer].loop == HU_NONE;
    if (!hu_is_given(end) || end->elements != 1 || !is_there_before(end, of))
        return refuse(graph, value, "expected a target or a fact of one element, there before it");
    if (!is_activation && !hu_is_loaded(of))
        return refuse(graph, value, "expected what is loaded, or made outside of loops");
    if (of->ends.lengths != HU_NONE && of->ends.lengths != lengths)
        return refuse(graph, value, "they end by others already");
    if (is_read(graph, value)) return refuse(graph, value, "a node has read it already");
    if (of->shape.rank < 1)
        return hu_fail(HU_ERR_SHAPE, "'%s' has no rows, expected a first extent", of->name);
    graph->value[value].ends = (hu_row_lengths){lengths, of->elements / of->shape.extent[0]};
    graph->value[lengths].tells_ends = true;
    return HU_OK;
}

/* What ends the rows of an input as a node reads it: of a step, of a whole. */
static hu_row_lengths ends_of_input(const hu_graph *graph, const hu_node *node, int i) {
    const hu_value_info *in = &graph->value[node->in[i]];
    return node->loop == HU_NONE || hu_is_held(node, i) ? in->ends : in->inner;
}

/* What ends the rows of all inputs that have padding, by the same lengths; rows: how many. */
static hu_row_lengths ends_of_inputs(const hu_graph *graph, const hu_node *node, int64_t *rows) {
    const hu_row_lengths none = {.lengths = HU_NONE};
    hu_row_lengths found = none;
    for (int i = 0; i < node->n_in; i++) {
        const hu_row_lengths of = ends_of_input(graph, node, i);
        bool is_stretched =
            node->op->broadcasts && node->shapes[i].rank != node->shapes[node->n_in].rank;
        if (of.lengths == HU_NONE || is_stretched) continue;
        int64_t has = hu_shape_elements(&node->shapes[i]) / of.row;
        if (found.lengths != HU_NONE && (found.lengths != of.lengths || *rows != has)) return none;
        found = of;
        *rows = has;
    }
    return found;
}

/* Where an input of the node says it. */
static hu_row_lengths ends_told(const hu_graph *graph, const hu_node *node, const hu_shape *out) {
    int by = node->op->ends_by;
    bool has = by > 0 && by < node->n_in && node->loop == HU_NONE && out->rank > 0;
    if (!has || !hu_is_given(&graph->value[node->in[by]]))
        return (hu_row_lengths){.lengths = HU_NONE};
    return (hu_row_lengths){node->in[by], hu_shape_elements(out) / out->extent[0]};
}

/* Of an output, or of one step of it. A view has the numbers of its input in their order, whatever
 * its extents are called. */
static hu_row_lengths ends_of_output(const hu_graph *graph, const hu_node *node, int i,
                                     hu_row_lengths in, int64_t rows) {
    const hu_shape *shape = &node->shapes[node->n_in + i];
    bool has_rows = shape->rank > 1 && shape->extent[0] == rows;
    if (node->op->ends_by > 0) return ends_told(graph, node, shape);
    if (in.lengths == HU_NONE || (!node->op->is_view && !has_rows))
        return (hu_row_lengths){.lengths = HU_NONE};
    return (hu_row_lengths){in.lengths, hu_shape_elements(shape) / rows};
}

void hu_row_lengths_infer(hu_graph *graph, const hu_node *node) {
    const hu_loop *loop = hu_loop_of(graph, node);
    int64_t rows = 0;
    hu_row_lengths in = {.lengths = HU_NONE};
    if (hu_keeps_rows(node->op, node->attrs, node->n_in > 0 ? node->shapes[0].rank : 0))
        in = ends_of_inputs(graph, node, &rows);
    for (int i = 0; i < node->n_out; i++) {
        hu_value_info *value = &graph->value[node->out[i]];
        const hu_row_lengths out = ends_of_output(graph, node, i, in, rows);
        if (loop)
            value->inner = out;
        else
            value->ends = out;
        if (loop && loop->lengths != HU_NONE)
            value->ends = (hu_row_lengths){loop->lengths, value->elements / loop->steps};
        if (value->ends.lengths != HU_NONE) graph->value[value->ends.lengths].tells_ends = true;
    }
}

/* The node that makes the lengths of a value; HU_NONE: they are loaded, or there are none. */
static uint32_t hu_row_lengths_teller(const hu_graph *graph, hu_value_id value) {
    hu_value_id lengths = graph->value[value].ends.lengths;
    return lengths == HU_NONE ? HU_NONE : graph->value[lengths].producer;
}

/* ---- turns ---- */

/* Networks that learn in turns: their declaration, what a pass of a turn reads, and their sizes. */

hu_status hu_graph_phase(hu_graph *graph, const char *name) {
    size_t length = strlen(name);
    if (length == 0 || length >= HU_TURN_BYTES)
        return hu_fail(HU_ERR_ARGUMENT, "turn '%.40s': found %zu characters, expected 1 to %d",
                       name, length, HU_TURN_BYTES - 1);
    if (graph->phase_count == HU_PHASES_MOST)
        return hu_fail(HU_ERR_LIMIT, "turn '%s': more than %d turns", name, HU_PHASES_MOST);
    if (graph->phase_count == 0 && graph->loss_count > 0)
        return hu_fail(HU_ERR_ARGUMENT, "turn '%s': found a loss that belongs to no turn", name);
    for (int t = 0; t < graph->phase_count; t++)
        if (strcmp(graph->phase[t].name, name) == 0)
            return hu_fail(HU_ERR_ARGUMENT, "two turns are called '%s'", name);
    memcpy(graph->phase[graph->phase_count++].name, name, length + 1);
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

bool hu_value_is_read(const hu_graph *graph, hu_value_id v, int phase) {
    const hu_value_info *value = &graph->value[v];
    for (uint32_t k = 0; k < value->use_count; k++)
        if (hu_node_runs(&graph->node[graph->use[value->uses[k]].node], phase)) return true;
    return phase == 0 || value->tells_ends;
}

bool hu_value_repeats(const hu_graph *graph, hu_value_id v, int phase) {
    for (int earlier = 1; earlier < phase; earlier++)
        if (hu_value_is_read(graph, v, earlier)) return true;
    return false;
}

/* ---- sizes ---- */

int64_t hu_graph_phase_parameters(const hu_graph *graph, int phase) {
    int64_t total = 0;
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        const hu_value_info *value = &graph->value[v];
        if (value->role == HU_VALUE_PARAMETER && value->phase == phase) total += value->elements;
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
int64_t hu_graph_phase_macs(const hu_graph *graph, int phase) {
    int64_t total = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const hu_node *node = &graph->node[n];
        const hu_value_info *weight = node->n_params > 0 ? &graph->value[node->param[0]] : NULL;
        if (weight && weight->phase == phase && graph->use[weight->uses[0]].node == n)
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
    for (int t = 0; t < graph->phase_count; t++) total += hu_graph_phase_macs(graph, t);
    for (uint32_t n = 0; n < graph->node_count && graph->phase_count == 0; n++)
        if (!graph->is_split || hu_node_runs(&graph->node[n], 1))
            total += hu_node_macs(graph, &graph->node[n]);
    return total;
}

/* ---- finish ---- */

/* What is minimised, and the end of the declaration: consumers and gradients. */

/* The bit of evaluations in hu_node.turns, where it says who is left out in the end. */
static const unsigned EVALUATIONS = 1u << HU_PHASES_MOST;

hu_status hu_graph_loss(hu_graph *graph, hu_value_id value, float weight,
                        hu_normaliser normaliser) {
    return hu_graph_loss_when(graph, value, weight, normaliser, HU_LOSS_ALWAYS);
}

hu_status hu_graph_loss_when(hu_graph *graph, hu_value_id value, float weight,
                             hu_normaliser normaliser, hu_loss_when when) {
    if (value >= graph->value_count || graph->value[value].producer == HU_NONE)
        return hu_fail(HU_ERR_ARGUMENT, "a loss must be the output of a node");
    uint32_t n = graph->value[value].producer;
    hu_node *node = &graph->node[n];
    if (!node->op->is_loss)
        return hu_fail(HU_ERR_ARGUMENT, "'%s' cannot be minimised: node '%s' (%s) is no loss",
                       graph->value[value].name, node->name, node->op->name);
    if (node->loss >= 0)
        return hu_fail(HU_ERR_ARGUMENT, "'%s' is declared as a loss twice",
                       graph->value[value].name);
    if (!(weight - weight == 0.0f))
        return hu_fail(HU_ERR_ARGUMENT, "loss '%s': weight %g, expected a finite number",
                       graph->value[value].name, (double)weight);
    if (graph->loss_count == HU_LOSSES_MOST)
        return hu_fail(HU_ERR_LIMIT, "more than %d losses", HU_LOSSES_MOST);
    node->loss = graph->loss_count;
    int phase = graph->phase_count > 0 ? graph->phase_count - 1 : 0;
    graph->loss[graph->loss_count++] = (hu_loss){n, weight, normaliser, phase, when};
    graph->is_split = graph->is_split || when != HU_LOSS_ALWAYS;
    return HU_OK;
}

/* Where no loss is declared, the only loss node is the loss. */
static hu_status find_loss(hu_graph *graph) {
    uint32_t found = HU_NONE;
    if (graph->loss_count > 0) return HU_OK;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (!graph->node[n].op->is_loss) continue;
        if (found != HU_NONE)
            return hu_fail(HU_ERR_ARGUMENT,
                           "nodes '%s' and '%s' are losses: which are minimised must be declared",
                           graph->node[found].name, graph->node[n].name);
        found = n;
    }
    if (found == HU_NONE) return hu_fail(HU_ERR_ARGUMENT, "the graph needs a loss node");
    return hu_graph_loss(graph, graph->node[found].out[0], 1.0f, HU_PER_SAMPLE);
}

static hu_status check_losses(const hu_graph *graph) {
    for (int k = 0; k < graph->loss_count; k++) {
        const hu_value_info *value = &graph->value[graph->node[graph->loss[k].node].out[0]];
        if (value->use_count > 0)
            return hu_fail(HU_ERR_ARGUMENT, "the loss '%s' is read by node '%s'", value->name,
                           graph->node[graph->use[value->uses[0]].node].name);
    }
    return HU_OK;
}

/* Lists the consumers of every value in consumer order. */
static hu_status link_uses(hu_graph *graph) {
    for (uint32_t u = 0; u < graph->use_count; u++) graph->value[graph->use[u].value].use_count++;
    for (uint32_t v = 0; v < graph->value_count; v++) {
        void *block;
        hu_status st = hu_alloc_array(graph->value[v].use_count, sizeof(uint32_t), &block);
        if (st != HU_OK) return st;
        graph->value[v].uses = block;
        graph->value[v].use_count = 0;
    }
    for (uint32_t u = 0; u < graph->use_count; u++) {
        hu_value_info *value = &graph->value[graph->use[u].value];
        value->uses[value->use_count++] = u;
    }
    return HU_OK;
}

/* True if NAME.* of a turn is the value's name. */
static bool is_of_phase(const hu_phase *phase, const char *name) {
    size_t length = strlen(phase->name);
    return strncmp(phase->name, name, length) == 0 && name[length] == '.';
}

/* The turn in which every trained parameter learns. */
static hu_status find_phases(hu_graph *graph) {
    for (hu_value_id v = 0; v < graph->value_count && graph->phase_count > 0; v++) {
        hu_value_info *value = &graph->value[v];
        int phase = 0;
        if (value->role != HU_VALUE_PARAMETER) continue;
        while (phase < graph->phase_count && !is_of_phase(&graph->phase[phase], value->name))
            phase++;
        if (phase == graph->phase_count)
            return hu_fail(HU_ERR_ARGUMENT, "'%s' belongs to none of the turns, expected '%s.*'",
                           value->name, graph->phase[0].name);
        value->phase = phase;
    }
    return HU_OK;
}

/* Turns and evaluations that have a loss, as bits. */
static unsigned phases_of(const hu_loss *loss) {
    unsigned phase = 1u << loss->phase;
    if (loss->when == HU_LOSS_IN_TRAINING) return phase;
    return loss->when == HU_LOSS_IN_EVALUATION ? EVALUATIONS : phase | EVALUATIONS;
}

/* Which turns need a node: those with a loss after it. Where nothing says otherwise all nodes run
 * in all passes. */
static void mark_phases(hu_graph *graph) {
    unsigned evaluated = graph->is_split ? 0 : EVALUATIONS;
    for (uint32_t n = 0; n < graph->node_count; n++)
        graph->node[n].phases = evaluated | (hu_graph_courses(graph) == 0);
    for (int k = 0; k < graph->loss_count; k++)
        graph->node[graph->loss[k].node].phases |= phases_of(&graph->loss[k]);
    for (uint32_t n = graph->node_count; n-- > 0;) {
        hu_loop_share_phases(graph, n);
        for (int i = 0; i < graph->node[n].n_in; i++) {
            uint32_t producer = graph->value[graph->node[n].in[i]].producer;
            if (producer != HU_NONE) graph->node[producer].phases |= graph->node[n].phases;
        }
        for (int i = 0; i < graph->node[n].n_out; i++) {
            uint32_t teller = hu_row_lengths_teller(graph, graph->node[n].out[i]);
            if (teller != HU_NONE) graph->node[teller].phases |= graph->node[n].phases;
        }
    }
    for (uint32_t n = 0; n < graph->node_count; n++) graph->node[n].phases ^= EVALUATIONS;
}

/* Who has a gradient in a turn. */
static hu_status mark_gradients_of(hu_graph *graph, uint32_t n, int phase) {
    hu_node *node = &graph->node[n];
    const unsigned bit = 1u << phase;
    bool learns = node->op->is_previous && hu_loop_learns(graph, node->loop, bit);
    if (node->op->makes_facts) return HU_OK;
    for (int i = 0; i < node->n_in; i++) learns |= graph->value[node->in[i]].grad_in & bit;
    for (int j = 0; j < node->n_params; j++) learns |= graph->value[node->param[j]].grad_in & bit;
    if (!learns) return HU_OK;
    if (node->needs_backward)
        return hu_fail(HU_ERR_ARGUMENT,
                       "node '%s': found gradients of the turns '%s' and '%s', expected one of "
                       "them: apply the network once for each",
                       node->name, graph->phase[node->learns_in].name, graph->phase[phase].name);
    node->needs_backward = true;
    node->learns_in = phase;
    for (int i = 0; i < node->n_in; i++)
        node->need_din[i] = graph->value[node->in[i]].grad_in & bit;
    for (int j = 0; j < node->n_params; j++)
        node->need_dparam[j] = graph->value[node->param[j]].grad_in & bit;
    for (int i = 0; i < node->n_out; i++) graph->value[node->out[i]].grad_in |= bit;
    return HU_OK;
}

static hu_status mark_gradients(hu_graph *graph) {
    hu_status st = HU_OK;
    for (hu_value_id v = 0; v < graph->value_count; v++)
        graph->value[v].grad_in =
            graph->value[v].role == HU_VALUE_PARAMETER ? 1u << graph->value[v].phase : 0u;
    for (int phase = 0; phase < hu_graph_phases(graph); phase++)
        for (uint32_t n = 0; n < graph->node_count; n++) {
            if (!hu_node_runs(&graph->node[n], phase + 1)) continue;
            HU_TRY(mark_gradients_of(graph, n, phase));
            hu_loop_close_gradients(graph, n, 1u << phase);
        }
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        hu_value_info *value = &graph->value[v];
        value->needs_grad = value->grad_in != 0;
        if (value->role == HU_VALUE_PARAMETER && graph->phase_count > 0 &&
            hu_contribution_count(graph, v) == 0)
            return hu_fail(HU_ERR_ARGUMENT, "'%s': no loss of the turn '%s' has a gradient by it",
                           value->name, graph->phase[value->phase].name);
    }
done:
    return st;
}

hu_status hu_graph_finish(hu_graph *graph) {
    hu_status st = HU_OK;
    uint32_t inputs = 0;
    if (graph->is_finished) return hu_fail(HU_ERR_ARGUMENT, "the graph is finished already");
    for (uint32_t i = 0; i < graph->loaded_count; i++)
        inputs += hu_is_read_in(&graph->value[graph->loaded[i]]);
    if (inputs == 0) return hu_fail(HU_ERR_ARGUMENT, "the graph needs an input");
    HU_TRY(hu_loops_check(graph));
    HU_TRY(find_loss(graph));
    HU_TRY(link_uses(graph));
    HU_TRY(check_losses(graph));
    HU_TRY(find_phases(graph));
    mark_phases(graph);
    HU_TRY(mark_gradients(graph));
    graph->is_finished = true;
done:
    return st;
}
