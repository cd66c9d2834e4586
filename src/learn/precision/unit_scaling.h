/* precision/unit_scaling.h - a network whose numbers are all near 1, by fixed factors.
 *
 * Unit scaling (Blake, Orr and Luschi, arXiv 2303.11257; u-muP, arXiv 2407.17465): weights start
 * with a standard deviation of 1, every op's output is multiplied by a factor that makes its root
 * mean square 1 when the training begins, and so are gradients on their way back, each by a factor
 * of its own. Narrow formats then need no scales, and the loss none.
 *
 * Gradients stay those of the network: a value v holds held(v) times the gradient of the loss, so
 * a contribution from a node with output o is multiplied by (factor of the output) held(v)/held(o).
 * Every held(v) may be chosen freely, without the constraint by cut edges of the paper; here it
 * makes the root mean square of v's gradient 1, contributions taken as independent.
 */
#ifndef HU_PRECISION_UNIT_SCALING_H
#define HU_PRECISION_UNIT_SCALING_H
#include "graph/edge.h"

typedef enum hu_scaling { HU_SCALING_NONE, HU_SCALING_UNIT, HU_SCALING_COUNT } hu_scaling;

/* "none", "unit" -> scaling; HU_ERR_UNKNOWN. */
hu_status hu_scaling_parse(const char *text, hu_scaling *scaling);
const char *hu_scaling_name(hu_scaling scaling);

/* Writes all factors of the table.
 *
 *   batch  samples of a step, >= 1
 *
 * Recurrent layers, and operations without a rule, stay as they are, with their weights.
 * HU_ERR_ARGUMENT where networks learn in turns.
 * Proof: tests/unit/precision_unit_scaling_test.c, bench/peers/recipe_step.py. */
hu_status hu_unit_scaling_write(const hu_graph *graph, int64_t batch, hu_edge_table *edges);

/* What of the graph has factor 1 for want of a rule: "recurrent layers", operations, each once, "a,
 * b"; empty: there is none. */
void hu_unit_scaling_without_rule(const hu_graph *graph, char *text, size_t capacity);

#endif
