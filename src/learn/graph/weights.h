/* graph/weights.h - the weights of a graph: masters and running statistics, in float32.
 *
 * They belong to who trains, and are lent to runs: several runs of one graph (another plan, another
 * batch) can work on the same weights, one after the other.
 */
#ifndef HU_GRAPH_WEIGHTS_H
#define HU_GRAPH_WEIGHTS_H
#include "graph/graph.h"

typedef struct hu_weights {
    float *block;     /* [elements] the masters in the order of their values, then the statistics */
    int64_t *offset;  /* [value_count] where a parameter or statistic begins in block; others: -1 */
    int64_t trained;  /* elements of all masters */
    int64_t elements; /* of masters and statistics */
} hu_weights;

/* Room for the weights of a finished graph, all zero. Owner frees with hu_weights_free; on failure
 * *weights is zero. */
hu_status hu_weights_create(const hu_graph *graph, hu_weights *weights);
void hu_weights_free(hu_weights *weights);

/* Where the numbers of a parameter or statistic begin. Borrowed: valid as long as the weights. */
static inline float *hu_weights_of(const hu_weights *weights, hu_value_id v) {
    return weights->block + weights->offset[v];
}

/* Draws initial weights: f(seed, name), independent of formats and threads. */
void hu_weights_draw(const hu_weights *weights, const hu_graph *graph, uint64_t seed, int threads);

#endif
