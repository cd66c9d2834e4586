/* kernel/gemm/state.h - sums between stretches, and what they end as.
 * Thread-safe: different blocks may be loaded and stored at once.
 */
#ifndef HU_KERNEL_GEMM_STATE_H
#define HU_KERNEL_GEMM_STATE_H
#include "kernel/gemm/tile.h"

/* Fills the state of the worker's block and chunk as it is before term k of the call: zeros, carry,
 * or what rests in c; and the reach of its tiles. */
void hu_gemm_state_load(hu_gemm_worker *worker, int64_t k, int64_t row_panels,
                        int64_t column_panels);

/* Stores the state after k terms of the call; is_last: c gets the result. */
void hu_gemm_state_store(hu_gemm_worker *worker, int64_t k, bool is_last);

/* c of a task without terms, from its carry. */
void hu_gemm_state_end(const hu_gemm_task *task);

#endif
