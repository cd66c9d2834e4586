/* What is minimised, and the end of the declaration: consumers and gradients. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "graph/ends.h"
#include "graph/loop.h"

/* The bit of evaluations in hu_node.turns, where it says who is left out in the end. */
static const unsigned EVALUATIONS = 1u << HU_TURNS_MOST;

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
    int turn = graph->turn_count > 0 ? graph->turn_count - 1 : 0;
    graph->loss[graph->loss_count++] = (hu_loss){n, weight, normaliser, turn, when};
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
static bool is_of_turn(const hu_turn *turn, const char *name) {
    size_t length = strlen(turn->name);
    return strncmp(turn->name, name, length) == 0 && name[length] == '.';
}

/* The turn in which every trained parameter learns. */
static hu_status find_turns(hu_graph *graph) {
    for (hu_value_id v = 0; v < graph->value_count && graph->turn_count > 0; v++) {
        hu_value_info *value = &graph->value[v];
        int turn = 0;
        if (value->role != HU_VALUE_PARAMETER) continue;
        while (turn < graph->turn_count && !is_of_turn(&graph->turn[turn], value->name)) turn++;
        if (turn == graph->turn_count)
            return hu_fail(HU_ERR_ARGUMENT, "'%s' belongs to none of the turns, expected '%s.*'",
                           value->name, graph->turn[0].name);
        value->turn = turn;
    }
    return HU_OK;
}

/* Turns and evaluations that have a loss, as bits. */
static unsigned turns_of(const hu_loss *loss) {
    unsigned turn = 1u << loss->turn;
    if (loss->when == HU_LOSS_IN_TRAINING) return turn;
    return loss->when == HU_LOSS_IN_EVALUATION ? EVALUATIONS : turn | EVALUATIONS;
}

/* Which turns need a node: those with a loss behind it. Where nothing says otherwise all nodes run
 * in all passes. */
static void mark_turns(hu_graph *graph) {
    unsigned evaluated = graph->is_split ? 0 : EVALUATIONS;
    for (uint32_t n = 0; n < graph->node_count; n++)
        graph->node[n].turns = evaluated | (hu_graph_courses(graph) == 0);
    for (int k = 0; k < graph->loss_count; k++)
        graph->node[graph->loss[k].node].turns |= turns_of(&graph->loss[k]);
    for (uint32_t n = graph->node_count; n-- > 0;) {
        hu_loop_share_turns(graph, n);
        for (int i = 0; i < graph->node[n].n_in; i++) {
            uint32_t producer = graph->value[graph->node[n].in[i]].producer;
            if (producer != HU_NONE) graph->node[producer].turns |= graph->node[n].turns;
        }
        for (int i = 0; i < graph->node[n].n_out; i++) {
            uint32_t teller = hu_ends_teller(graph, graph->node[n].out[i]);
            if (teller != HU_NONE) graph->node[teller].turns |= graph->node[n].turns;
        }
    }
    for (uint32_t n = 0; n < graph->node_count; n++) graph->node[n].turns ^= EVALUATIONS;
}

/* Who has a gradient in a turn. */
static hu_status mark_gradients_of(hu_graph *graph, uint32_t n, int turn) {
    hu_node *node = &graph->node[n];
    const unsigned bit = 1u << turn;
    bool learns = node->op->is_previous && hu_loop_learns(graph, node->loop, bit);
    if (node->op->makes_facts) return HU_OK;
    for (int i = 0; i < node->n_in; i++) learns |= graph->value[node->in[i]].grad_in & bit;
    for (int j = 0; j < node->n_params; j++) learns |= graph->value[node->param[j]].grad_in & bit;
    if (!learns) return HU_OK;
    if (node->needs_backward)
        return hu_fail(HU_ERR_ARGUMENT,
                       "node '%s': found gradients of the turns '%s' and '%s', expected one of "
                       "them: apply the network once for each",
                       node->name, graph->turn[node->learns_in].name, graph->turn[turn].name);
    node->needs_backward = true;
    node->learns_in = turn;
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
            graph->value[v].role == HU_VALUE_PARAMETER ? 1u << graph->value[v].turn : 0u;
    for (int turn = 0; turn < hu_graph_turns(graph); turn++)
        for (uint32_t n = 0; n < graph->node_count; n++) {
            if (!hu_node_runs(&graph->node[n], turn + 1)) continue;
            HU_TRY(mark_gradients_of(graph, n, turn));
            hu_loop_close_gradients(graph, n, 1u << turn);
        }
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        hu_value_info *value = &graph->value[v];
        value->needs_grad = value->grad_in != 0;
        if (value->role == HU_VALUE_PARAMETER && graph->turn_count > 0 &&
            hu_contribution_count(graph, v) == 0)
            return hu_fail(HU_ERR_ARGUMENT, "'%s': no loss of the turn '%s' has a gradient by it",
                           value->name, graph->turn[value->turn].name);
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
    HU_TRY(find_turns(graph));
    mark_turns(graph);
    HU_TRY(mark_gradients(graph));
    graph->is_finished = true;
done:
    return st;
}
