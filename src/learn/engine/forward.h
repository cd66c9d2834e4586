/* engine/forward.h - the forward pass: loading, then region by region. */
#ifndef HU_ENGINE_FORWARD_H
#define HU_ENGINE_FORWARD_H
#include "engine/state.h"

/* Loads the batch and runs all nodes of a pass that has been started. */
void hu_forward_run(hu_run *run, const hu_source *source, hu_pass_result *result);

#endif
