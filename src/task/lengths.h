/* task/lengths.h - rows of sequences that differ in length. */
#ifndef HU_TASK_LENGTHS_H
#define HU_TASK_LENGTHS_H
#include "graph/graph.h"

/* What data sets and graphs call the number of rows of a sample that are there. */
#define HU_LENGTHS_FIELD "length"

/* The same of sentences and of their translations. */
#define HU_SOURCE_LENGTHS_FIELD "source_length"
#define HU_TARGET_LENGTHS_FIELD "target_length"

/* How many rows of a head count of each sample, in a graph that loads HU_LENGTHS_FIELD: that number
 * where the head has as many rows as a sample has frames; else it behind the stride that leaves the
 * rows of the head, of which node LOSS.lengths tells. *rows is the rows of the head, 0 where no
 * stride leaves them, or there are none: its shape is then wrong. Errors as hu_graph_apply. */
hu_status hu_lengths_fit(hu_graph *graph, int64_t frames, hu_value_id head, const char *loss,
                         int64_t *rows, hu_value_id *lengths);

#endif
