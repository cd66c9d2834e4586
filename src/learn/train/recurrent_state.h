/* train/recurrent_state.h - states that go on from batch to batch (engine/recurrent_state.c), one
 * row for each stream of the data: when they begin again, and their part of a checkpoint. Of models
 * without such states all functions do nothing. */
#ifndef HU_TRAIN_RECURRENT_STATE_H
#define HU_TRAIN_RECURRENT_STATE_H
#include "store/checkpoint.h"
#include "train/inner.h"

/* Room for a checkpoint. HU_ERR_ARGUMENT if the data are not read in as many streams as a batch has
 * samples; HU_ERR_MEMORY. */
hu_status hu_streams_create(hu_trainer *trainer);
void hu_streams_free(hu_streams *streams);

/* Samples of a pass of an evaluation that begins at sample `first`: so many of `most` as belong to
 * one update of the streams. */
int64_t hu_streams_samples(const hu_trainer *trainer, int64_t first, int64_t most);

/* Sections "states" [streams][numbers], float32 whatever the states are stored in, and
 * "states.zeroed", how many streams have begun again because they were not finite or not made. */
hu_status hu_streams_save(hu_trainer *trainer, hu_checkpoint_writer *writer);

/* HU_ERR_ARGUMENT for another number of streams; HU_ERR_CORRUPT. */
hu_status hu_streams_check(const hu_trainer *trainer, const hu_checkpoint *checkpoint);

/* Streams begin again as zeros where this run has other formats than the one that was saved, and
 * those lack a number of theirs. HU_ERR_CORRUPT. */
hu_status hu_streams_restore(hu_trainer *trainer, const hu_checkpoint *checkpoint);

/* Rows of the workers of other processes reach that of worker 0: part of hu_trainer_gather. */
hu_status hu_streams_gather(hu_trainer *trainer);

#endif
