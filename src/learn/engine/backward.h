/* engine/backward.h - the backward pass, region by region in reverse order. */
#ifndef HU_ENGINE_BACKWARD_H
#define HU_ENGINE_BACKWARD_H
#include "engine/state.h"

/* Runs all nodes backward in a pass that has been started. */
void hu_backward_run(hu_run *run);

#endif
