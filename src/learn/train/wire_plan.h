/* train/wire_plan.h - the formats in which gradients travel, as users write them. */
#ifndef HU_TRAIN_WIRE_PLAN_H
#define HU_TRAIN_WIRE_PLAN_H
#include "comm/plan.h"
#include "graph/graph.h"
#include "train/inner.h"

/* ---- What travels between workers, as users write it ---- */

/* "e5m2", or a list by epoch "0: fp32, 30: e4m3" whose epochs grow from 0. Owner frees *phase.
 * HU_ERR_PARSE, HU_ERR_ARGUMENT, and the errors of formats. */
hu_status hu_wire_formats_parse(const char *text, hu_wire_phase **phase, int32_t *phases);

/* Whether gradients on their way keep float32's range in all epochs: nothing travels, or in formats
 * of which hu_format_keeps_range holds. Errors as above. */
hu_status hu_wire_formats_keep_range(const hu_train_comm *comm, bool *keeps);

/* ---- The gradients of a graph as layers of a reduction ---- */

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
