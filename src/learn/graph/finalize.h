/* graph/finalize.h - a graph made ready: row lengths, phases of training, checks. */
#ifndef HU_GRAPH_FINALIZE_H
#define HU_GRAPH_FINALIZE_H
#include "graph/graph.h"

/* Says that of a value [T, ..] a sample has the first rows only: as many as the length says, read
 * as a whole number within 0 .. T. Nobody may need the others: they become zeros.
 *
 *   value    loaded, or made outside of loops; declared before any node reads it
 *   lengths  a loaded target or a fact of one element, there before the value is
 *
 * HU_ERR_ARGUMENT, HU_ERR_SHAPE where something else is found. */
hu_status hu_graph_end_rows(hu_graph *graph, hu_value_id value, hu_value_id lengths);

/* ---- for the declaration ---- */

/* Finds out what the rows of a new node's outputs are. */
void hu_row_lengths_infer(hu_graph *graph, const hu_node *node);

#endif
