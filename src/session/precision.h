/* session/precision.h - the keys precision.* and accumulator.* as the trainer takes them. */
#ifndef HU_SESSION_PRECISION_H
#define HU_SESSION_PRECISION_H
#include "config/config.h"
#include "precision/edge_writer.h"
#include "session/listener.h"

/* Tells of a resolved plan that was made for other tensor names than the graph's. */
void hu_options_tell_names(const hu_config *config, const hu_graph *graph,
                           const hu_listener *listener);

/* Tells of keys that do not do what they seem to: a scheme that is not the name's own beside what
 * else the name brings, and a promotion that can never act. */
void hu_options_tell_precision(const hu_config *config, const hu_precision *precision,
                               const hu_graph *graph, const hu_edge_table *edges,
                               const hu_listener *listener);

/* Reads all of them; a precision by epoch becomes the configuration's precision.name. Owner frees
 * with hu_precision_free, also after a failure. */
hu_status hu_options_precision(hu_config *config, hu_precision *precision);

#endif
