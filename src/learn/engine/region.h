/* engine/region.h - a region of fused nodes: their calls, chunk by chunk. */
#ifndef HU_ENGINE_REGION_H
#define HU_ENGINE_REGION_H
#include "engine/chunk.h"
#include "engine/state.h"

/* ---- visit ---- */

/* What a region does in one visit: the node's own call, and those of the nodes
 * that run with it (planner/fusion.h). */

/* The region's node forward, and the partial results of its guests. */
void hu_chunk_forward(hu_chunk *visit);

/* The region's node backward, and the nodes that are pulled, pushed and reduced with it. */
void hu_chunk_backward(hu_chunk *visit);

/* Only the partial result of the region's own node. */
void hu_chunk_reduce(hu_chunk *visit);

/* ---- call ---- */

/* Calls of a region's nodes before its loop over the chunks, and the partial
 * results of the chunks behind it. */

/* Fills the node-wide facts of a call: everything but the sample pointers. */
void hu_call_prepare(hu_run *run, uint32_t n, hu_pass pass, hu_op_call *call);

/* Prepares the calls of all nodes that run in a region, and begins the region's own node. */
void hu_region_begin(hu_run *run, uint32_t n, hu_pass pass);

/* Takes the partial results of a node in loops of its own, and finishes it. */
void hu_region_reduce(hu_run *run, uint32_t n, hu_pass pass);

/* Finishes the guests whose partial results this region has left. */
void hu_region_finish_fused(hu_run *run, uint32_t n, hu_pass pass);

#endif
