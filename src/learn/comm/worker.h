/* comm/worker.h - one worker of a reduction: its gradient, what it sends and what it makes of what
 * it gets. Knows no transport: comm/emulated.h runs many of them in one process,
 * comm/process_group.h one of them in each.
 *
 * The order of calls for each bucket of a step: hu_comm_worker_exponents, hu_comm_worker_round, the
 * actions of the list, hu_comm_worker_finish. Workers share nothing but the plan.
 */
#ifndef HU_COMM_WORKER_H
#define HU_COMM_WORKER_H
#include "comm/counts.h"
#include "comm/plan.h"

typedef struct hu_comm_worker hu_comm_worker;

/* plan and gradient [plan->elements] are borrowed; the gradient is replaced by the sum over all
 * workers. HU_ERR_MEMORY. */
hu_status hu_comm_worker_create(const hu_comm_plan *plan, int32_t rank, float *gradient,
                                hu_comm_worker **worker);
void hu_comm_worker_free(hu_comm_worker *worker);

/* Bytes of the numbers that a worker with this list holds beside its gradient: codes, those that
 * wait in slots, scales, and what roundings lost. The allocator counts them for
 * HU_MEMORY_WORKERS.
 */
uint64_t hu_comm_worker_bytes(const hu_comm_plan *plan, const hu_comm_list *list);

/* Kinds of roundings whose losses error feedback keeps, 0 without it. */
int32_t hu_comm_loss_kinds(const hu_comm_plan *plan);

/* Begins a step of the training: counts are those of this step alone. */
void hu_comm_worker_begin(hu_comm_worker *worker, uint64_t step);

/* Exponents of the layers of a bucket at this worker, [layers of the bucket], or what else is
 * agreed upon, of hu_comm_agreed_bytes each. */
void hu_comm_worker_exponents(hu_comm_worker *worker, int32_t bucket, int8_t *exponent);

/* Rounds the gradients of a bucket into their codes. exponent: the largest of all workers, NULL
 * where the plan does not agree upon any. */
void hu_comm_worker_round(hu_comm_worker *worker, int32_t bucket, const int8_t *exponent);

/* What the worker does. Borrowed: valid as long as the worker. */
const hu_comm_list *hu_comm_worker_list(const hu_comm_worker *worker);

/* Writes the message of a SEND, hu_comm_message_bytes of it. */
void hu_comm_worker_write(const hu_comm_worker *worker, int32_t bucket,
                          const hu_comm_action *action, uint8_t *message);

/* Takes the message of a TAKE, ADD or KEEP: HU_ERR_CORRUPT if it is not the expected one. */
hu_status hu_comm_worker_read(hu_comm_worker *worker, int32_t bucket, const hu_comm_action *action,
                              const uint8_t *message, size_t bytes);

/* COMBINE. */
void hu_comm_worker_combine(hu_comm_worker *worker, int32_t bucket, const hu_comm_action *action);

/* Codes become float32 again, in place of the gradient. */
void hu_comm_worker_finish(hu_comm_worker *worker, int32_t bucket);

/* Counts of the present step [layers]. Borrowed: valid as long as the worker. */
const hu_comm_counts *hu_comm_worker_counts(const hu_comm_worker *worker);

/* Error feedback: what roundings of kind i lost so far, [elements]; NULL where the plan has none.
 * Borrowed: valid as long as the worker; may be written between steps, as a checkpoint does. */
float *hu_comm_worker_loss(const hu_comm_worker *worker, int32_t i);

#endif
