/* observe/recorder.h - what happened to every rounded tensor, step by step: numerics.jsonl of a run
 * folder. */
#ifndef HU_OBSERVE_RECORDER_H
#define HU_OBSERVE_RECORDER_H
#include "graph/edge.h"

typedef struct hu_recorder hu_recorder;

/* Opens path for appending; owner closes. HU_ERR_IO. */
hu_status hu_recorder_open(const char *path, hu_recorder **recorder);

/* Writes one line: {"step": N, "tensors": [[name, format, elements, overflow, underflow, subnormal,
 * zero, nan, max_exponent], ...]} with every tensor that was rounded in the step (max_exponent null
 * if all were zero), and "products": [[LAYER.product, accumulator, values, subnormal, overflow],
 * ...] of the products with a chosen accumulator if the step counted them. */
hu_status hu_recorder_step(hu_recorder *recorder, int64_t step, const hu_graph *graph,
                           const hu_edge_table *edges);

/* Writes a line of another kind, an object whose first key is "step". HU_ERR_IO. */
hu_status hu_recorder_line(hu_recorder *recorder, const char *line);

/* Closes; NULL is allowed. HU_ERR_IO if something could not be written. */
hu_status hu_recorder_close(hu_recorder *recorder);

#endif
