/* planner/internal.h - what the files of planner share. */
#ifndef HU_PLANNER_INTERNAL_H
#define HU_PLANNER_INTERNAL_H
#include <halfulp/status.h>

#include "engine/internal.h"

/* ---- arena.c: buffers with lifetimes get offsets in one arena, largest first ---- */

/* Gives every buffer an offset such that no two that live at the same time overlap; *total is the
 * arena's size. Greedy by size, lowest free offset. */
hu_status hu_arena_place(hu_buffer *buffers, uint32_t count, size_t *total);

/* ---- memory.c: who needs how many bytes from when to when ---- */

/* Times of the plan: inputs are loaded at 0, then the N nodes run forward, then backward in
 * descending order; the update is last. Each has two times: the visits of its chunks are at the one
 * that is given here, what its region begins with at the one before (hu_rehearsal). */
static inline int32_t hu_time_forward(uint32_t node) {
    return 2 * ((int32_t)node + 1);
}
static inline int32_t hu_time_backward(const hu_graph *graph, uint32_t node) {
    return 2 * (int32_t)(2 * graph->node_count - node);
}
static inline int32_t hu_time_update(const hu_graph *graph) {
    return 2 * (int32_t)(2 * graph->node_count) + 1;
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

/* Declares buffers for all uses of a stored value that could be kept, if they take fewer bytes
 * together than the value: with float32 storage none do. */
hu_status hu_saved_input_declare(hu_run *run);

/* After a rehearsal: keeps no copies of values that live into the backward pass all the same,
 * because somebody else wants them there. True if there were any: what lives how long has changed.
 */
bool hu_saved_input_drop(hu_run *run);

/* ---- watch.c ---- */

/* A new plan of the run goes on looking, and takes over what is kept; NULL: nobody looks. */
hu_status hu_watch_carry(hu_run *run, hu_watch *watch);
void hu_watch_free(hu_watch *watch);

/* ---- ledger.c ---- */

/* Finds run->role_bytes, once all buffers have their lifetimes. HU_ERR_MEMORY. */
hu_status hu_ledger_plan(hu_run *run);

/* ---- planner.c ---- */

/* Bytes of rows of the slot, whatever it holds within its capacity. */
size_t hu_slot_bytes(const hu_slot *slot, hu_storage_mode mode, int64_t rows);

/* ---- rehearsal.c: the passes once without numbers ---- */

/* Walks through a forward and, unless the run only goes forward, a backward pass over the whole
 * batch. Buffers must be declared. On the way the passes note what they use (engine/chunk.h). Where
 * that shows that a rounded input is kept for nothing (memory.c), the passes are walked through
 * again without it. */
hu_status hu_rehearse(hu_run *run);

/* ---- fusion.c: which nodes run in the same visits of the chunks ---- */

/* Fills the joining fields of run->exec, is_virtual and is_remade. Slots must be ready. */
void hu_fuse_plan(hu_run *run);

#endif
