/* graph/loop.h - recurrences: nodes that run step by step over the rows of their values.
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
#ifndef HU_GRAPH_LOOP_H
#define HU_GRAPH_LOOP_H
#include "graph/graph.h"

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

/* ---- for the declaration ---- */

/* Makes room for one more element in a doubling array. */
hu_status hu_graph_grow(void **array, uint32_t count, uint32_t *capacity, size_t element_bytes);

/* The loop that is being declared, NULL: none. */
const hu_loop *hu_loop_open(const hu_graph *graph);

/* HU_ERR_ARGUMENT for a value that a node of the loop holds, and that the loop makes. */
hu_status hu_loop_hold(const hu_loop *loop, const hu_value_info *value);

/* HU_ERR_ARGUMENT if an op cannot run in a loop (NULL: outside of loops). */
hu_status hu_loop_check(const hu_loop *loop, const hu_op *op);

/* The shape of one step of a value that a loop reads; HU_ERR_SHAPE if it has no rows for steps. */
hu_status hu_loop_step(const hu_loop *loop, const hu_value_info *value, hu_shape *step);

/* The shape of a value of which a node makes one step; outside of loops (NULL) the same. */
hu_shape hu_loop_whole(const hu_loop *loop, const hu_shape *step);

/* Notes that a loop (NULL: none) makes or reads the steps of a value. */
void hu_loop_mark(const hu_loop *loop, hu_value_info *value);

/* HU_ERR_ARGUMENT for a loop that is still open, a state outside of loops, or what another node
 * than a state starts as that goes on from pass to pass. */
hu_status hu_loops_check(const hu_graph *graph);

/* All nodes of a loop run in the same turns: called for the nodes in descending order, with the
 * turns of those behind them known. */
void hu_loop_share_phases(hu_graph *graph, uint32_t node);

/* True if a parameter in the loop, or what it reads from outside, has a gradient in a turn. */
bool hu_loop_learns(const hu_graph *graph, uint32_t loop, unsigned bit);

/* At the last node of a loop: its states want the gradients of what they become. */
void hu_loop_close_gradients(hu_graph *graph, uint32_t node, unsigned bit);

#endif
