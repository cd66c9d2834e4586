/* graph/internal.h - what the files that declare and close a graph share. */
#ifndef HU_GRAPH_INTERNAL_H
#define HU_GRAPH_INTERNAL_H
#include "graph/graph.h"

/* ---- loop.c: nodes that run step by step ---- */

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
 * turns of those after them known. */
void hu_loop_share_phases(hu_graph *graph, uint32_t node);

/* True if a parameter in the loop, or what it reads from outside, has a gradient in a turn. */
bool hu_loop_learns(const hu_graph *graph, uint32_t loop, unsigned bit);

/* At the last node of a loop: its states want the gradients of what they become. */
void hu_loop_close_gradients(hu_graph *graph, uint32_t node, unsigned bit);

/* ---- finalize.c: row lengths ---- */

/* Finds out what the rows of a new node's outputs are. */
void hu_row_lengths_infer(hu_graph *graph, const hu_node *node);

#endif
