/* engine/requantize.h - other quantizers for a planned run, between steps. */
#ifndef HU_ENGINE_REQUANTIZE_H
#define HU_ENGINE_REQUANTIZE_H
#include "engine/run.h"

/* Takes over the quantizers that the edge table holds now. True if the run has room for all that
 * have changed (hu_edge.capacity_bits): it then computes what a run that is planned for them
 * computes. The rounded copies of the parameters must be made anew. False: nothing has changed, and
 * the run must be planned again (layout/create.h, hu_run_replan). Allocates nothing. */
bool hu_run_requantize(hu_run *run);

#endif
