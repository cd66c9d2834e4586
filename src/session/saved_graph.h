/* session/saved_graph.h - the graph of a run's model, without its data, weights or memory. */
#ifndef HU_SESSION_SAVED_GRAPH_H
#define HU_SESSION_SAVED_GRAPH_H
#include "config/config.h"
#include "graph/graph.h"

/* Merges the folder's configuration as hu_saved_run_merge and builds its model for images of the
 * size that `plan` assumes: names and connections do not depend on it. Owner frees with
 * hu_graph_free. */
hu_status hu_saved_graph_open(hu_config *config, const char *directory, hu_graph **graph);

#endif
