/* graph/whole.h - products with a chosen accumulator: gradients summed over the whole batch, and
 * what the accumulators counted. */
#ifndef HU_GRAPH_WHOLE_H
#define HU_GRAPH_WHOLE_H
#include "graph/layout.h"

/* Backward pass of a node that sums its parameter gradients over the whole batch: in turn, as many
 * chunks as there are threads run side by side, then the op accumulates them in ascending order. */
void hu_whole_backward(hu_run *run, uint32_t node);

/* Zeroes the threads' counts of accumulators and lets the node's calls count where the pass asks
 * for it; adds them to the node's. */
void hu_products_begin(hu_run *run, uint32_t node);
void hu_products_collect(hu_run *run, uint32_t node);

#endif
