/* train/workers.h - the workers of a training that this process runs: which samples they take, what
 * their passes found, and how their gradients become one.
 *
 * Without several workers there is one, whose samples are the batch and whose gradient is read in
 * place. With them each has a gradient of its own in float32, which a team replaces by the sum.
 */
#ifndef HU_TRAIN_WORKERS_H
#define HU_TRAIN_WORKERS_H
#include "store/checkpoint.h"
#include "train/inner.h"
#include "train/micro_batch.h"

/* Makes the gradients and the plan of the reduction. HU_ERR_ARGUMENT, HU_ERR_PARSE and
 * HU_ERR_UNKNOWN where the options do not fit. */
hu_status hu_workers_create(hu_trainer *trainer);
void hu_workers_free(hu_workers *workers);

/* Samples of worker w (of all) in a batch: an even share, in order. */
hu_share hu_worker_share(const hu_trainer *trainer, int64_t samples, int32_t w);

/* Most samples of one worker. */
int64_t hu_worker_most(const hu_train_options *options);

/* The format that travels from this epoch on. Makes another plan where it changes. */
hu_status hu_workers_begin_step(hu_trainer *trainer, const hu_step_report *report);

/* The step is skipped: what is kept is what it was before. */
void hu_workers_undo_losses(hu_workers *workers);

/* Worker `here` of this process begins its passes of the step. */
void hu_workers_begin(hu_trainer *trainer, int32_t here);

/* Its next backward pass; is_last: it has no further one in the step. Sets what the pass tells. */
void hu_workers_begin_part(hu_trainer *trainer, bool is_first, bool is_last, hu_pass_options *pass);

/* The backward pass has come to its end: its gradient is the worker's, or more of it. */
void hu_workers_add_part(hu_trainer *trainer);

/* Its passes are done: what they found. A gradient that was not made is NaN where they were stopped
 * and zero where there was no sample. */
void hu_workers_note(hu_trainer *trainer, const hu_worker_result *result);

/* What the passes of all workers found together; their gradients have become one. */
hu_status hu_workers_reduce(hu_trainer *trainer, const hu_step_report *report,
                            hu_worker_result *total);

/* Adds what the step's roundings on the way did to what hu_trainer_wire tells. */
void hu_workers_count(hu_trainer *trainer);

/* Room for what error feedback keeps in other processes, where checkpoints are written; part of
 * hu_workers_bytes. HU_ERR_MEMORY. */
hu_status hu_workers_make_room(hu_workers *workers);
uint64_t hu_workers_room_bytes(const hu_workers *workers);

/* What error feedback keeps, as sections "comm.loss.I" of a checkpoint, and what was counted. All
 * processes of a training must call hu_trainer_gather before that of worker 0 saves. */
hu_status hu_workers_save(hu_trainer *trainer, hu_checkpoint_writer *writer);

/* Whether they can be taken over: HU_ERR_ARGUMENT where they are of another number of workers;
 * HU_ERR_CORRUPT. */
hu_status hu_workers_check(const hu_trainer *trainer, const hu_checkpoint *checkpoint);

/* Takes them over once they are checked; a checkpoint without them begins with nothing lost. */
hu_status hu_workers_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint);

/* Bytes of gradients and of what travels, for the ledger: those of the format that travels now. */
uint64_t hu_workers_bytes(const hu_workers *workers);

#endif
