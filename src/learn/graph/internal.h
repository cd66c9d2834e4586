/* graph/internal.h - what the files that declare and close a graph share. */
#ifndef HU_GRAPH_INTERNAL_H
#define HU_GRAPH_INTERNAL_H
#include "graph/graph.h"

/* ---- loop.c: nodes that run step by step ---- */

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
