/* engine/visit.h - what a region does in one visit: the node's own call, and those of the nodes
 * that run with it (layout/fuse.h). */
#ifndef HU_ENGINE_VISIT_H
#define HU_ENGINE_VISIT_H
#include "engine/rows.h"

/* The region's node forward, and the partial results of its guests. */
void hu_visit_forward(hu_visit *visit);

/* The region's node backward, and the nodes that are pulled, pushed and reduced with it. */
void hu_visit_backward(hu_visit *visit);

/* Only the partial result of the region's own node. */
void hu_visit_reduce(hu_visit *visit);

#endif
