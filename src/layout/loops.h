/* layout/loops.h - what a plan makes of loops (graph/loop.h). */
#ifndef HU_LAYOUT_LOOPS_H
#define HU_LAYOUT_LOOPS_H
#include "engine/state.h"

/* HU_ERR_ARGUMENT where a format cannot round step by step: one that waits for the numbers of all
 * steps, scales, blocks, learned formats, and gradients that weights read apart. */
hu_status hu_loops_check_edges(const hu_run *run);

/* Samples of a node's largest call: the rows of all steps where it has parameters. */
int64_t hu_loops_chunk(const hu_run *run, uint32_t node);

/* Who computes a node's products: oneDNN knows none of the many counts of samples in loops. */
hu_product_engine hu_loops_engine(const hu_run *run, uint32_t node);

#endif
