/* graph/fate.h - what a plan makes of a node's output, and what the formats force on it. */
#ifndef HU_GRAPH_FATE_H
#define HU_GRAPH_FATE_H
#include "graph/run.h"

typedef enum hu_fate {
    HU_FATE_KEPT,    /* stored, and there for the backward pass */
    HU_FATE_PASSING, /* stored, dead before the backward pass needs it */
    HU_FATE_AGAIN,   /* never stored: every reader makes it again */
    HU_FATE_NONE     /* never stored, and made once */
} hu_fate;

/* "kept", "passing", "again", "none" */
const char *hu_fate_name(hu_fate fate);

/* Of a forward value. */
hu_fate hu_run_fate(const hu_run *run, hu_value_id value);

/* Name of the storage that the plan has chosen for a value, whether or not it is stored. */
const char *hu_run_storage_name(const hu_run *run, hu_value_id value);

/* True if no number of the value is known before the largest magnitude of the whole tensor: such a
 * tensor stands in float32 between two loops over the batch, and its nodes join no others. */
bool hu_run_waits(const hu_run *run, hu_value_id value);

/* The same of the value's gradient: of one of its contributions, or of their sum. */
bool hu_run_gradient_waits(const hu_run *run, hu_value_id value);

#endif
