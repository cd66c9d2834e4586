/* graph/graph.h - the static graph: nodes and values by id, declared in execution order.
 *
 * A use is one (value, consumer) pair: input i of node n is use n.first_use + i, its parameter j is
 * use n.first_use + n_in + j. Values, uses and nodes are named; gradients are called NAME.grad.
 */
#ifndef HU_GRAPH_GRAPH_H
#define HU_GRAPH_GRAPH_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

#include "op/op.h"

/* ---- Values by name ---- */

typedef struct hu_name_entry {
    const char *name; /* NULL: the place is free. Borrowed: valid as long as the table */
    uint32_t id;
} hu_name_entry;

/* Empty when zero. */
typedef struct hu_name_table {
    hu_name_entry *entry;   /* [capacity] a name stands at its hash or in the next free place */
    size_t count, capacity; /* capacity: 0 or a power of two, more than twice count */
} hu_name_table;

/* Adds a name that the table does not have. name: borrowed as long as the table. HU_ERR_MEMORY. */
hu_status hu_name_table_add(hu_name_table *table, const char *name, uint32_t id);

/* NULL if there is none. Borrowed: until the next name is added. */
const hu_name_entry *hu_name_table_find(const hu_name_table *table, const char *name);

void hu_name_table_free(hu_name_table *table);

/* ---- The graph ---- */

#define HU_NONE UINT32_MAX

enum { HU_NAME_BYTES = 256 }; /* longest name of a value, with its final zero */

typedef uint32_t hu_value_id;

typedef enum hu_value_role {
    HU_VALUE_INPUT, /* loaded; rounded as its edge says */
    HU_VALUE_ACTIVATION,
    HU_VALUE_PARAMETER, /* trained */
    HU_VALUE_BUFFER,    /* running statistics */
    HU_VALUE_TARGET,    /* loaded; float32 numbers that are never rounded: class numbers, wanted
                           outputs */
    HU_VALUE_IDS,       /* loaded; whole numbers from 0 on that a network reads, float32 and never
                        rounded: tokens */
    HU_VALUE_FACT       /* made by a node (hu_op.makes_facts), never rounded, without a gradient:
                           regions of a picture */
} hu_value_role;

/* What the loss of a batch is divided by. */
typedef enum hu_normaliser {
    HU_PER_SAMPLE, /* the mean over the batch's samples */
    HU_PER_ROW     /* the sum over the units that count, divided by their number in the whole batch:
                      of tokens or pixels, those whose target is not ignored */
} hu_normaliser;

/* Which passes have a loss. What only losses of other passes need does not run. */
typedef enum hu_loss_when {
    HU_LOSS_ALWAYS,
    HU_LOSS_IN_TRAINING,  /* it is minimised, and no evaluation knows it: a sampled softmax, */
    HU_LOSS_IN_EVALUATION /* and the whole one, which no training makes */
} hu_loss_when;

/* One term of what is minimised: weight x normalised sum of a loss node's output. */
typedef struct hu_loss {
    uint32_t node;
    float weight;
    hu_normaliser normaliser;
    int phase; /* in which it is minimised; 0 in graphs without turns */
    hu_loss_when when;
} hu_loss;

enum { HU_LOSSES_MOST = 8, HU_PHASES_MOST = 2, HU_TURN_BYTES = 16 };

/* Networks that learn against each other do so in turns: each has losses of its own, which train
 * the parameters NAME.* and no others. */
typedef struct hu_phase {
    char name[HU_TURN_BYTES];
} hu_phase;

/* Nodes first .. last run step by step (graph/graph.h): each reads and writes row t of values with
 * `steps` rows per sample, for t = 0, 1, ... */
typedef struct hu_loop {
    uint32_t first, last;
    int64_t steps;
    hu_value_id lengths; /* steps of each sample; HU_NONE: all take all */
    bool is_closed;
} hu_loop;

/* Of some values a sample has the first rows only; those after its length are padding: exact zeros
 * in values and gradients, in no counter and of no scale (engine/chunk.h). */
typedef struct hu_row_lengths {
    hu_value_id lengths; /* how many rows are present, of one element; HU_NONE: all */
    int64_t row;         /* elements of a row */
} hu_row_lengths;

typedef struct hu_value_info {
    char *name;     /* "layer2.0.conv1.out", "layer2.0.conv1.weight" */
    hu_shape shape; /* of one sample; of the whole for parameters and buffers */
    int64_t elements;
    hu_value_role role;
    int64_t ids;        /* of HU_VALUE_IDS: how many numbers there are, 0 to ids - 1 */
    int phase;          /* parameters: in which they learn */
    unsigned grad_in;   /* bit t: losses of turn t have a gradient by it */
    hu_init init;       /* parameters and buffers */
    uint32_t producer;  /* node, HU_NONE for inputs and parameters */
    uint32_t output;    /* which output of the producer */
    uint32_t use_count; /* consumers */
    uint32_t *uses;     /* [use_count] in consumer order */
    bool needs_grad;
    int64_t steps; /* of a value whose rows a loop makes or reads one by one; else 1 */
    hu_row_lengths ends;
    hu_row_lengths
        inner;       /* of each step of a value that a loop makes: rows of what its nodes hold */
    bool tells_ends; /* it is the lengths of another value, and so read where that is made */
} hu_value_info;

typedef struct hu_node {
    char *name;
    const hu_op *op;
    void *attrs; /* copy of op->attrs_bytes bytes */
    int n_in, n_out, n_params;
    hu_value_id *in, *out, *param;
    bool *need_din;    /* [n_in] is the gradient of this input wanted */
    bool *need_dparam; /* [n_params] is that of this parameter */
    bool needs_backward;
    unsigned phases; /* bit t: the losses of turn t need what the node makes; bit HU_PHASES_MOST:
                       evaluations do not */
    int learns_in;   /* the one turn in which gradients go through it */
    uint32_t first_use;
    int loss;         /* its index among the graph's losses, -1: it is none */
    uint32_t loop;    /* its index among the graph's loops, HU_NONE: it is in none */
    hu_shape *shapes; /* [n_in + n_out + n_params] in that order; in a loop those of one step */
} hu_node;

typedef struct hu_use {
    uint32_t node;
    int index; /* input i, or n_in + parameter j */
    hu_value_id value;
} hu_use;

typedef struct hu_graph {
    hu_value_info *value;
    hu_node *node;
    hu_use *use;
    hu_name_table names; /* of the values */
    uint32_t value_count, node_count, use_count;
    size_t value_capacity, node_capacity, use_capacity;
    hu_value_id *loaded; /* [loaded_count] inputs and targets in the order of their declaration */
    uint32_t loaded_count;
    size_t loaded_capacity;
    hu_loss loss[HU_LOSSES_MOST]; /* [loss_count] in the order of their declaration */
    int loss_count;
    hu_phase phase[HU_PHASES_MOST]; /* [turn_count] in the order in which a step has them */
    int phase_count;                /* 0: all losses are minimised together */
    bool is_split;                  /* evaluations have other losses than trainings */
    hu_loop *loop;                  /* [loop_count] in the order of their declaration */
    uint32_t loop_count;
    size_t loop_capacity;
    hu_value_id made, wanted; /* what metrics compare; HU_NONE: the inputs of the first loss */
    bool is_finished;
} hu_graph;

hu_status hu_graph_create(hu_graph **graph);
void hu_graph_free(hu_graph *graph);

/* What a parameter is called: PREFIX.suffix, PREFIX alone where the suffix is empty; or with the
 * suffix in the place of the star of a prefix. */
void hu_param_name(const char *prefix, const char *suffix, char *name, size_t bytes);

/* Declares a value that each pass loads: an input, or a target, which no format ever rounds. Any
 * number of both; a graph has at least one input, or ids. */
hu_status hu_graph_input(hu_graph *graph, const char *name, const hu_shape *shape,
                         hu_value_id *value);
hu_status hu_graph_target(hu_graph *graph, const char *name, const hu_shape *shape,
                          hu_value_id *value);

/* Most different ids: whole numbers up to here are exact in float32. */
enum { HU_IDS_MOST = 1 << 24 };

/* Declares an input of whole numbers 0 .. ids-1 that nodes read and no format ever rounds. A pass
 * that is given others ends with an error (engine/run.h). HU_ERR_LIMIT beyond HU_IDS_MOST. */
hu_status hu_graph_ids(hu_graph *graph, const char *name, const hu_shape *shape, int64_t ids,
                       hu_value_id *value);

/* Declares a node: infers the output shapes, makes outputs (NAME.out, or NAME.out0, NAME.out1, ...,
 * or NAME and what the op calls them) and parameters (PREFIX.suffix, prefix NULL: the node's name;
 * in a prefix with a star the suffix takes its place, "lstm.*_l0"). attrs is copied, the in ids
 * too. outputs: room for HU_MAX_OUTPUTS ids. Errors name the node: HU_ERR_SHAPE, HU_ERR_ARGUMENT
 * for a duplicate name or an input that is no value, HU_ERR_LIMIT for a name that is too long.
 * After a failure the graph can only be freed. */
hu_status hu_graph_apply(hu_graph *graph, const hu_op *op, const char *name, const char *prefix,
                         const void *attrs, int n_in, const hu_value_id *in, hu_value_id *outputs);

/* Declares a node that works with parameters of other nodes: tied weights, a network that is
 * applied twice. A trained parameter has one gradient, the sum over its uses in consumer order;
 * nodes that share running statistics update them in the order of the nodes.
 *
 *   params  [the op's parameters] existing ids, or HU_NONE: one of its own, as hu_graph_apply
 *
 * As hu_graph_apply; HU_ERR_SHAPE or HU_ERR_ARGUMENT for a value that is no such parameter. */
hu_status hu_graph_share(hu_graph *graph, const hu_op *op, const char *name, const void *attrs,
                         int n_in, const hu_value_id *in, const hu_value_id *params,
                         hu_value_id *outputs);

/* The connections of a node whose outputs and parameters are values already. */
typedef struct hu_node_facts {
    int n_in, n_out, n_params;
    const hu_value_id *in, *out, *param; /* borrowed */
} hu_node_facts;

/* For graphs that are read from a file: values and nodes as they are told, without inference. Such
 * a graph has no attributes and cannot run. Errors as hu_graph_apply; HU_ERR_ARGUMENT if an output
 * is made already. */
hu_status hu_graph_add_value(hu_graph *graph, const char *name, const hu_shape *shape,
                             hu_value_role role, hu_value_id *value);
hu_status hu_graph_add_node(hu_graph *graph, const hu_op *op, const char *name,
                            const hu_node_facts *facts);

/* Declares that the output of a loss node (hu_op.is_loss) is minimised; several losses are added. A
 * graph without such a declaration minimises its only loss node: weight 1, per sample.
 *
 *   value   output of a loss node that is not declared yet and that no node reads
 *   weight  a finite number
 *
 * HU_ERR_ARGUMENT, HU_ERR_LIMIT beyond HU_LOSSES_MOST. */
hu_status hu_graph_loss(hu_graph *graph, hu_value_id value, float weight, hu_normaliser normaliser);

/* The same of a loss that only some passes have. The first loss is that of metrics. */
hu_status hu_graph_loss_when(hu_graph *graph, hu_value_id value, float weight,
                             hu_normaliser normaliser, hu_loss_when when);

/* Begins the next turn: losses declared from here on belong to it, and with them all trained
 * parameters whose names begin with NAME and a dot. Every trained parameter belongs to one turn,
 * and gradients go through a node in one turn alone: a network that two of them need is applied
 * twice. HU_ERR_ARGUMENT for an empty, long or known name, and where losses were declared before
 * the first turn; HU_ERR_LIMIT beyond HU_PHASES_MOST. */
hu_status hu_graph_phase(hu_graph *graph, const char *name);

/* Declares what metrics compare, where that is not what the first loss does. */
void hu_graph_answer(hu_graph *graph, hu_value_id made, hu_value_id wanted);

/* The values that metrics compare: what the network says, and what is true. */
hu_value_id hu_graph_made(const hu_graph *graph);
hu_value_id hu_graph_wanted(const hu_graph *graph);

/* True if a loss reads the value, or a metric does. */
bool hu_graph_is_compared(const hu_graph *graph, hu_value_id value);

/* Closes the declaration, once: finds the losses, the consumers of every value and who needs a
 * gradient. HU_ERR_ARGUMENT: an input or a loss is missing, or a node reads a loss. */
hu_status hu_graph_finish(hu_graph *graph);

/* The value that a loss compares the prediction with, HU_NONE if that is not a loaded target. */
hu_value_id hu_graph_loss_target(const hu_graph *graph, int loss);

/* Units (samples, or rows that are not ignored) of a loss among count samples of its target; adds
 * the target's elements to counts, unusable ones as NaN. A loss without a target counts samples. */
int64_t hu_graph_count_units(const hu_graph *graph, int loss, int64_t count, const float *target,
                             hu_round_counts *counts);

/* The loop that a node belongs to, NULL: none. */
static inline const hu_loop *hu_loop_of(const hu_graph *graph, const hu_node *node) {
    return node->loop == HU_NONE ? NULL : &graph->loop[node->loop];
}

/* True if a node in a loop reads its input i as a whole in every step. */
static inline bool hu_is_held(const hu_node *node, int i) {
    return node->loop != HU_NONE && i < HU_MAX_HELD && (node->op->held >> i & 1u);
}

/* True if a loop reads the value step by step. */
bool hu_is_read_by_step(const hu_graph *graph, hu_value_id value);

/* Multiply-accumulates of one sample, forward, over all steps. */
int64_t hu_node_macs(const hu_graph *graph, const hu_node *node);

/* True for values that are loaded. */
static inline bool hu_is_loaded(const hu_value_info *value) {
    return value->role == HU_VALUE_INPUT || value->role == HU_VALUE_TARGET ||
           value->role == HU_VALUE_IDS;
}

/* True for what a network reads of the data. */
static inline bool hu_is_read_in(const hu_value_info *value) {
    return value->role == HU_VALUE_INPUT || value->role == HU_VALUE_IDS;
}

/* True for float32 numbers that say what is, not what a network says of it. */
static inline bool hu_is_given(const hu_value_info *value) {
    return value->role == HU_VALUE_TARGET || value->role == HU_VALUE_FACT ||
           value->role == HU_VALUE_IDS;
}

/* True for values that a format may round: neither targets, facts nor running statistics. */
static inline bool hu_is_rounded_kind(const hu_value_info *value) {
    return !hu_is_given(value) && value->role != HU_VALUE_BUFFER;
}

/* Id of a named value, HU_NONE if there is none. */
hu_value_id hu_graph_find(const hu_graph *graph, const char *name);

/* Kinds of passes beside evaluations, the number of the last: those of the turns. Of graphs that
 * run the same nodes in trainings as in evaluations there is none. */
static inline int hu_graph_courses(const hu_graph *graph) {
    return graph->phase_count > 0 ? graph->phase_count : (int)graph->is_split;
}

/* Questions about a pass. turn: number of the turn from 1 on, 0: of evaluations, and of the one
 * kind of passes of graphs without courses. Whether the forward pass runs a node, the backward pass
 * does, and whether an earlier turn of the step has run the node before. */
static inline bool hu_node_runs(const hu_node *node, int phase) {
    if (phase == 0) return !(node->phases >> HU_PHASES_MOST & 1u);
    return node->phases >> (phase - 1) & 1u;
}
static inline bool hu_node_learns(const hu_node *node, int phase) {
    return node->needs_backward && (phase == 0 || node->learns_in == phase - 1);
}
static inline bool hu_node_repeats(const hu_node *node, int phase) {
    return phase > 1 && (node->phases & ((1u << (phase - 1)) - 1u));
}

/* True if a parameter of the node learns. */
static inline bool hu_node_weight_learns(const hu_node *node) {
    bool learns = false;
    for (int j = 0; j < node->n_params; j++) learns |= node->need_dparam[j];
    return learns;
}

/* True if the backward part of a node reads its input i. A product reads it for the gradients of
 * its parameters, and not where these are not wanted. */
static inline bool hu_node_saves(const hu_node *node, int i) {
    bool learns = !node->op->is_product || node->n_params == 0 || hu_node_weight_learns(node);
    if (node->op->broadcasts && node->n_in == 1 && !hu_node_weight_learns(node))
        return i < 1 && (node->op->saves_alone & HU_SAVE_INPUT_0);
    return learns && hu_saves_input(node->op, i);
}

/* True if the inputs that are asked about have the shape of the output: all of an op that does not
 * broadcast. */
static inline bool hu_node_is_even(const hu_node *node, int inputs) {
    const hu_shape *out = &node->shapes[node->n_in];
    for (int i = 0; node->op->broadcasts && i < inputs; i++)
        if (!hu_shape_equal(&node->shapes[i], out)) return false;
    return true;
}

/* What hu_op says of nodes whose inputs are not stretched. */
static inline bool hu_node_works_in_place(const hu_node *node) {
    return node->op->in_place && hu_node_is_even(node, 1);
}
static inline bool hu_node_copies_gradient(const hu_node *node) {
    return node->op->copies_gradient && hu_node_is_even(node, node->n_in);
}
static inline bool hu_node_selects_gradient(const hu_node *node) {
    return node->op->selects_gradient && hu_node_is_even(node, node->n_in);
}

/* The second factor of a product: its weights, or its second input. */
static inline hu_value_id hu_node_second_factor(const hu_node *node) {
    return node->n_params > 0 ? node->param[0] : node->in[1];
}

/* Likewise whether a loaded value is read, and was before. */
bool hu_value_is_read(const hu_graph *graph, hu_value_id value, int phase);
bool hu_value_repeats(const hu_graph *graph, hu_value_id value, int phase);

/* Turns of a step: 1 without declared ones. */
static inline int hu_graph_phases(const hu_graph *graph) {
    return graph->phase_count > 0 ? graph->phase_count : 1;
}

/* True if this use brings a gradient contribution. */
bool hu_use_has_gradient(const hu_graph *graph, uint32_t use);

/* How many contributions the gradient of a value is the sum of, and the use that brings number k,
 * in consumer order. */
uint32_t hu_contribution_count(const hu_graph *graph, hu_value_id value);
uint32_t hu_contribution_use(const hu_graph *graph, hu_value_id value, uint32_t k);

/* True for a trained parameter with several uses: its gradient is a sum with a place of its own. */
bool hu_is_summed_parameter(const hu_graph *graph, hu_value_id value);

/* The layer that a node belongs to: its name, or the prefix of its own weights where that is
 * another
 * ("fc" of node "fc.product"). layer: room for HU_NAME_BYTES. */
void hu_graph_layer_name(const hu_graph *graph, const hu_node *node, char *layer);

/* "forward", "input_grad", "weight_grad". Borrowed: valid forever. */
const char *hu_product_role_name(hu_product_role role);

/* Numbers of a trained model: parameters (trained elements) and multiply-accumulates of one sample.
 * A network that is applied several times in a step with turns counts once. */
int64_t hu_graph_parameters(const hu_graph *graph);
int64_t hu_graph_macs(const hu_graph *graph);

/* The same of the network of a turn. */
int64_t hu_graph_phase_parameters(const hu_graph *graph, int phase);
int64_t hu_graph_phase_macs(const hu_graph *graph, int phase);

/* The fixed facts of a node as ops see them. Borrowed: valid as long as the graph. */
hu_node_info hu_graph_node_info(const hu_node *node, int64_t chunk, int threads);

/* ---- Recurrences ---- */

/* Nodes that run step by step over the rows of their values.
 *
 * Inside a loop a node is declared like any other, in shapes of one step. What it reads and makes
 * are values with `steps` rows per sample, [steps, shape of one step], which nodes outside read and
 * make as wholes. What one step hands to the next goes through a state: `previous` is, in step t,
 * row t-1 of a value that the loop makes, and in step 0 an initial row from outside.
 *
 * What an operation holds (hu_op.held) is read as a whole in every step: the words that a decoder
 * attends to. Its gradient is one sum over the steps, t ascending, in double, rounded once.
 *
 * A sample of length L takes part in the steps 0 .. L-1. Its other rows are +0, forward and
 * backward; nobody rounds or counts them.
 */

/* Inputs of a state's node. */
enum { HU_STATE_NEXT, HU_STATE_INITIAL, HU_STATE_LENGTHS };

/* Begins a loop; nodes that are declared from now on belong to it. lengths: a loaded target or a
 * fact of one element, or HU_NONE. A length is read as a whole number within 0 .. steps.
 * HU_ERR_ARGUMENT inside another loop, or for lengths that are no such value. */
hu_status hu_graph_loop(hu_graph *graph, int64_t steps, hu_value_id lengths);

/* Declares a state that starts as `initial` [of one step]; node NAME, value NAME.out. */
hu_status hu_graph_state(hu_graph *graph, const char *name, hu_value_id initial,
                         hu_value_id *state);

/* Says what the state is in the next step: a value that the loop makes. Once for each state.
 * HU_ERR_ARGUMENT, HU_ERR_SHAPE. */
hu_status hu_graph_next(hu_graph *graph, hu_value_id state, hu_value_id next);

/* Ends the loop. HU_ERR_ARGUMENT if there is none, no state in it, or a state without next. */
hu_status hu_graph_end_loop(hu_graph *graph);

/* For graphs that are read from a file: says that nodes first .. last, by number, are a loop.
 * HU_ERR_ARGUMENT for nodes that there are not, or that belong to another loop. */
hu_status hu_graph_add_loop(hu_graph *graph, uint32_t first, uint32_t last, int64_t steps);

/* ---- Row lengths ---- */

/* Says that of a value [T, ..] a sample has the first rows only: as many as the length says, read
 * as a whole number within 0 .. T. Nobody may need the others: they become zeros.
 *
 *   value    loaded, or made outside of loops; declared before any node reads it
 *   lengths  a loaded target or a fact of one element, there before the value is
 *
 * HU_ERR_ARGUMENT, HU_ERR_SHAPE where something else is found. */
hu_status hu_graph_end_rows(hu_graph *graph, hu_value_id value, hu_value_id lengths);

/* ---- Weights ---- */

/* Masters and running statistics, in float32.
 *
 * They belong to who trains, and are lent to runs: several runs of one graph (another plan, another
 * batch) can work on the same weights, one after the other.
 */

typedef struct hu_weights {
    float *block;     /* [elements] the masters in the order of their values, then the statistics */
    int64_t *offset;  /* [value_count] where a parameter or statistic begins in block; others: -1 */
    int64_t trained;  /* elements of all masters */
    int64_t elements; /* of masters and statistics */
} hu_weights;

/* Room for the weights of a finished graph, all zero. Owner frees with hu_weights_free; on failure
 * *weights is zero. */
hu_status hu_weights_create(const hu_graph *graph, hu_weights *weights);
void hu_weights_free(hu_weights *weights);

/* Where the numbers of a parameter or statistic begin. Borrowed: valid as long as the weights. */
static inline float *hu_weights_of(const hu_weights *weights, hu_value_id v) {
    return weights->block + weights->offset[v];
}

/* Draws initial weights: f(seed, name), independent of formats and threads. */
void hu_weights_draw(const hu_weights *weights, const hu_graph *graph, uint64_t seed, int threads);

#endif
