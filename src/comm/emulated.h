/* comm/emulated.h - all workers of a reduction in one process, step by step: what the processes of
 * MPI do, message for message, without a network.
 */
#ifndef HU_COMM_EMULATED_H
#define HU_COMM_EMULATED_H
#include "comm/worker.h"

/* What a reduction sends. */
typedef struct hu_comm_traffic {
    int64_t steps;             /* of the schedule, without the agreement upon exponents */
    int64_t agreement_steps;   /* in which workers agree upon exponents */
    uint64_t bytes;            /* of all workers: headers, scales and numbers */
    uint64_t bytes_per_worker; /* the most that one of them sends */
} hu_comm_traffic;

/* Of one reduction of all buckets. HU_ERR_MEMORY. */
hu_status hu_comm_traffic_of(const hu_comm_plan *plan, hu_comm_traffic *traffic);

typedef struct hu_comm_emulated hu_comm_emulated;

/* gradient [workers] arrays of plan->elements, borrowed, as the plan. HU_ERR_MEMORY. */
hu_status hu_comm_emulated_create(const hu_comm_plan *plan, float *const *gradient, int threads,
                                  hu_comm_emulated **result);
void hu_comm_emulated_free(hu_comm_emulated *emulated);

/* Every worker's gradient becomes the sum over all. Fails only by HU_ERR_CORRUPT. */
hu_status hu_comm_emulated_run(hu_comm_emulated *emulated, uint64_t step);

/* Borrowed: valid as long as emulated. */
hu_comm_worker *hu_comm_emulated_worker(const hu_comm_emulated *emulated, int32_t rank);

#endif
