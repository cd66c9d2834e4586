/* graph/ends.h - which values have rows that are padding.
 *
 * A sample of length L has the rows 0 .. L-1 of a value [T, ..]. Four things say so: the graph's
 * maker, of what is loaded, and of what an op makes that knows nothing of it (hu_graph_end_rows); a
 * loop with lengths, of all that it makes; an op that reads how many rows there are
 * (hu_op.ends_by); and one that keeps rows (hu_op.keeps_rows), of what it makes of such a value: in
 * a loop of what a node holds, in every step.
 */
#ifndef HU_GRAPH_ENDS_H
#define HU_GRAPH_ENDS_H
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
void hu_ends_infer(hu_graph *graph, const hu_node *node);

/* The node that makes the lengths of a value; HU_NONE: they are loaded, or there are none. */
uint32_t hu_ends_teller(const hu_graph *graph, hu_value_id value);

#endif
