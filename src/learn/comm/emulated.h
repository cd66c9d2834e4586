/* comm/emulated.h - all workers of a reduction in one process, step by step: what the processes of
 * MPI do, message for message, without a network.
 */
#ifndef HU_COMM_EMULATED_H
#define HU_COMM_EMULATED_H
#include "comm/worker.h"

typedef struct hu_comm_emulated hu_comm_emulated;

/* gradient [workers] arrays of plan->elements, borrowed, as the plan. HU_ERR_MEMORY. */
hu_status hu_comm_emulated_create(const hu_comm_plan *plan, float *const *gradient, int threads,
                                  hu_comm_emulated **result);
void hu_comm_emulated_free(hu_comm_emulated *emulated);

/* Every worker's gradient becomes the sum over all. Fails only by HU_ERR_CORRUPT, with
 * what the first worker that failed has to say. */
hu_status hu_comm_emulated_run(hu_comm_emulated *emulated, uint64_t step);

/* Borrowed: valid as long as emulated. */
hu_comm_worker *hu_comm_emulated_worker(const hu_comm_emulated *emulated, int32_t rank);

#endif
