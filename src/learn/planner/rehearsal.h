/* planner/rehearsal.h - the passes are walked through once without numbers, to learn from the code
 * that will run when each buffer is used, how much scratch a thread needs, and which nodes run in
 * each region.
 */
#ifndef HU_LAYOUT_REHEARSAL_H
#define HU_LAYOUT_REHEARSAL_H
#include "engine/internal.h"

/* Walks through a forward and, unless the run only goes forward, a backward pass over the whole
 * batch. Buffers must be declared. On
 * the way the passes note what they use (engine/chunk.h). Where that shows that a rounded input is
 * kept for nothing (planner/memory.h), the passes are walked through again without it. */
hu_status hu_rehearse(hu_run *run);

#endif
