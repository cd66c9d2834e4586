/* layout/buffers.h - the buffers of a run: who needs how many bytes from when to when. */
#ifndef HU_LAYOUT_BUFFERS_H
#define HU_LAYOUT_BUFFERS_H
#include "engine/state.h"

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

/* A buffer that nobody has used yet; *id = HU_NONE for 0 bytes. */
hu_status hu_buffers_add(hu_run *run, size_t bytes, hu_buffer_role role, uint32_t *id);

/* Chunks whose parameter gradients node n adds one after the other, before spans are added in a
 * tree. */
int64_t hu_buffers_span(const hu_run *run, uint32_t n);

/* Declares the buffers of all slots and nodes. Nobody uses them yet: the rehearsal finds when they
 * are used, and drops what nobody uses. */
hu_status hu_buffers_declare(hu_run *run);

/* Places the buffers that the rehearsal has given lifetimes, allocates the arena
 * (unless the run is only planned), and points slots and threads into it. */
hu_status hu_buffers_place(hu_run *run);

#endif
