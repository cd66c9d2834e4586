/* planner/loops.h - what a plan makes of loops (graph/loop.h). */
#ifndef HU_LAYOUT_LOOPS_H
#define HU_LAYOUT_LOOPS_H
#include "engine/internal.h"

/* True if a loop makes a value, and rounds the sum of its gradient; or reads its steps at a
 * use, and rounds what it reads and its part of the gradient. */
bool hu_loops_makes(const hu_run *run, hu_value_id v);
bool hu_loops_reads(const hu_run *run, uint32_t use);

/* Samples of a node's largest call: the rows of all steps where it has parameters. */
int64_t hu_loops_chunk(const hu_run *run, uint32_t node);

/* Who computes a node's products: oneDNN knows none of the many counts of samples in loops. */
hu_product_engine hu_loops_engine(const hu_run *run, uint32_t node);

/* Lists the states that go on from pass to pass, and gives them two banks that live as long as the
 * arena. HU_ERR_MEMORY. */
hu_status hu_loops_declare_carried(hu_run *run);

/* The banks are in the arena: both hold zeros. */
void hu_loops_begin_carried(hu_run *run);

#endif
