/* engine/call.h - calls of a region's nodes before its loop over the chunks, and the partial
 * results of the chunks behind it. */
#ifndef HU_ENGINE_CALL_H
#define HU_ENGINE_CALL_H
#include "engine/state.h"

/* Fills the node-wide facts of a call: everything but the sample pointers. */
void hu_call_prepare(hu_run *run, uint32_t n, hu_pass pass, hu_op_call *call);

/* Prepares the calls of all nodes that run in a region, and begins the region's own node. */
void hu_region_begin(hu_run *run, uint32_t n, hu_pass pass);

/* Takes the partial results of a node in loops of its own, and finishes it. */
void hu_region_reduce(hu_run *run, uint32_t n, hu_pass pass);

/* Finishes the guests whose partial results this region has left. */
void hu_region_finish_guests(hu_run *run, uint32_t n, hu_pass pass);

#endif
