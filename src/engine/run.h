/* engine/run.h - a planned run, as others than engine and layout see it. layout/create.h makes it,
 * engine/pass.h runs it. */
#ifndef HU_ENGINE_RUN_H
#define HU_ENGINE_RUN_H
#include "engine/options.h"
#include "graph/edge.h"

typedef struct hu_run hu_run;

#endif
