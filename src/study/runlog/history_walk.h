/* runlog/history_walk.h - the tensors of a run in the order in which they are made, with those
 * that only its files can tell of: gradients between workers, state of the optimizer. */
#ifndef HU_JOURNAL_HISTORY_WALK_H
#define HU_JOURNAL_HISTORY_WALK_H
#include "graph/tensor_order.h"
#include "runlog/history.h"

/* The walk of the run's graph, which it borrows. Owner frees with hu_tensor_order_free.
 * HU_ERR_MEMORY. */
hu_status hu_history_walk(const hu_history *history, const hu_graph *graph, hu_tensor_order *walk);

/* The place in the walk of each tensor that the files name, HU_NONE: it has none. place:
 * [history->tensors.count]. */
void hu_history_places(const hu_history *history, const hu_tensor_order *walk, uint32_t *place);

#endif
