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

/* Declares all buffers, rehearses the passes for their lifetimes, places them, allocates the arena
 * and points slots and threads into it. */
hu_status hu_layout_arena(hu_run *run);

/* Number of the calling thread in its team. */
int hu_thread_number(void);

static inline void *hu_buffer_data(const hu_run *run, uint32_t buffer) {
    return buffer == HU_NONE || !run->arena ? NULL : run->arena + run->buffers[buffer].offset;
}

/* True if the chunks leave parameter gradients. */
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

#endif
