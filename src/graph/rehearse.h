/* graph/rehearse.h - the passes are walked through once without numbers, to learn from the code
 * that will run when each buffer is used, how much scratch a thread needs, and which nodes run in
 * each region.
 */
#ifndef HU_GRAPH_REHEARSE_H
#define HU_GRAPH_REHEARSE_H
#include "graph/run.h"

/* Walks through a forward and a backward pass over the whole batch. Buffers must be declared. */
hu_status hu_rehearse(hu_run *run);

/* Called on the way: a buffer (HU_NONE: none) is used at the present time; a thread's scratch is
 * used up to so many bytes; node n runs in a region. */
void hu_rehearse_buffer(hu_run *run, uint32_t buffer);
void hu_rehearse_scratch(hu_run *run, size_t bytes);
void hu_rehearse_member(hu_run *run, uint32_t region, uint32_t n, hu_pass pass);

#endif
