/* engine/loop.h - the visit of a loop: all its steps on one chunk (graph/loop.h), t = 0, 1, ...
 * forward, and back again. A gradient of a parameter is one sum over the rows of all steps, sample
 * by sample, t ascending. */
#ifndef HU_ENGINE_LOOP_H
#define HU_ENGINE_LOOP_H
#include "engine/chunk.h"

void hu_loop_forward(hu_chunk *visit);
void hu_loop_backward(hu_chunk *visit);

#endif
