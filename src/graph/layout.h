/* graph/layout.h - the buffers of a run: who needs how many bytes from when to when. */
#ifndef HU_GRAPH_LAYOUT_H
#define HU_GRAPH_LAYOUT_H
#include "graph/run.h"

/* Times of the plan: inputs are loaded at 0, node n runs forward at n + 1 and backward at 2 N - n;
 * the update is last. */
static inline int32_t hu_time_forward(uint32_t node) {
    return (int32_t)node + 1;
}
static inline int32_t hu_time_backward(const hu_graph *graph, uint32_t node) {
    return (int32_t)(2 * graph->node_count - node);
}
static inline int32_t hu_time_update(const hu_graph *graph) {
    return (int32_t)(2 * graph->node_count + 1);
}

/* Declares all buffers, places them, allocates the arena and points slots and threads into it. */
hu_status hu_layout_arena(hu_run *run);

/* Number of the calling thread in its team. */
int hu_thread_number(void);

static inline void *hu_buffer_data(const hu_run *run, uint32_t buffer) {
    return buffer == HU_NONE ? NULL : run->arena + run->buffers[buffer].offset;
}

/* True if the chunks leave a parameter gradient each. */
static inline bool hu_dparam_per_chunk(const hu_run *run, uint32_t node) {
    return run->graph->node[node].op->dparam_per_chunk && !run->exec[node].sums_whole;
}

/* True if this use brings a gradient contribution. */
bool hu_use_has_gradient(const hu_graph *graph, uint32_t use);

/* Hands out parts of a thread's scratch memory; base NULL only measures. */
typedef struct hu_bump {
    unsigned char *base;
    size_t used;
} hu_bump;
void *hu_bump_take(hu_bump *bump, size_t bytes);

/* Samples of chunk c of the present pass. */
static inline int64_t hu_chunk_rows(const hu_run *run, int64_t c) {
    int64_t left = run->pass.samples - c * run->options.chunk;
    return left < run->options.chunk ? left : run->options.chunk;
}

/* True if the sum of a value's gradient contributions is rounded: not if it is one contribution
 * that has the sum's own numbers. */
bool hu_chunk_rounds_sum(const hu_run *run, hu_value_id value);

/* That sum over a chunk, not rounded yet, in scratch. */
const float *hu_chunk_gradient_sum(hu_run *run, hu_value_id value, const hu_op_call *call,
                                   hu_bump *bump);

/* Fills the sample pointers of a call for one chunk from slots and scratch; with a NULL base it
 * measures the scratch. */
void hu_chunk_forward(hu_run *run, uint32_t node, hu_op_call *call, hu_bump *bump);
void hu_chunk_backward(hu_run *run, uint32_t node, hu_op_call *call, hu_bump *bump,
                       hu_round_counts *sum_counts, bool with_outputs);

#endif
