/* train/wire_layers.h - the gradients of a graph as layers of a reduction. */
#ifndef HU_TRAIN_WIRE_LAYERS_H
#define HU_TRAIN_WIRE_LAYERS_H
#include "comm/plan.h"
#include "graph/graph.h"

/* Trained parameters in the order in which the backward pass makes their gradients.
 *
 *   exact   globs of parameters that travel in float32, separated by commas; "last": those of the
 *           last layer; "" none
 *   param   [parameters of the graph] ids
 *   layer   [the same] with names of the graph and offsets one behind the other
 *
 *   layers  their number
 *
 * HU_ERR_UNKNOWN: an entry of exact names none, with the nearest names; HU_ERR_MEMORY. */
hu_status hu_wire_layers(const hu_graph *graph, const char *exact, hu_value_id *param,
                         hu_comm_layer *layer, int32_t *layers);

/* How many there are. */
int32_t hu_wire_layer_count(const hu_graph *graph);

#endif
