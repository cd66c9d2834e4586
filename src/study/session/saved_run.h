/* session/saved_run.h - a run's folder read again: its configuration, and its newest checkpoint. */
#ifndef HU_SESSION_SAVED_RUN_H
#define HU_SESSION_SAVED_RUN_H
#include "config/config.h"
#include "settings/dataset.h"
#include "settings/messages.h"
#include "train/trainer.h"

typedef struct hu_saved_run {
    const char *directory; /* borrowed */
    hu_dataset *dataset;
    hu_precision precision;
    hu_train_options options;
    hu_trainer *trainer;
    int64_t step;           /* of the checkpoint */
    bool allows_unlabelled; /* set before: pictures of other data may lack their annotation */
    bool only_weights; /* set before: no sample is wanted. The data need not be there any more; only
                          where data.* is typed now, or an older version wrote the folder */
    bool has_other_data;  /* its samples are those of another data= than the run's */
    hu_given_files files; /* that its test samples are; count 0: they are those of the data */
    bool prompts; /* set before: the data are a text that is to be gone on with (data/text.h) */
} hu_saved_run;

/* Reads the folder's resolved configuration; what the user gave now wins over it, but for what a
 * run keeps (model, initial weights, task and loss): HU_ERR_ARGUMENT with both. comm.transport is
 * that of this process, never the folder's. */
hu_status hu_saved_run_merge(hu_config *config, const char *directory);

/* The data of a merged configuration, to go on with: with what the folder knows of them. Owner
 * frees with hu_dataset_close. */
hu_status hu_saved_run_data(hu_config *config, const char *directory, const hu_listener *listener,
                            hu_dataset **dataset);

/* hu_trainer_restore, from a checkpoint of the run's folder. HU_ERR_SHAPE then tells which tensor
 * of graph.json is another one here: the run had another width, or data of other shapes. */
hu_status hu_saved_run_restore(const hu_config *config, const char *directory, hu_trainer *trainer,
                               const hu_checkpoint *checkpoint);

/* Merges, opens the data and reads the options, of which some may be changed before a trainer is
 * made of them. Owner closes. */
hu_status hu_saved_run_read(hu_config *config, const char *directory, const hu_listener *listener,
                            hu_saved_run *run);

/* Reads, makes the trainer and restores the newest sound checkpoint into it; a damaged later one
 * is named to the listener. For looking at the run: the trainer has no workers. Owner closes. */
hu_status hu_saved_run_open(hu_config *config, const char *directory, const hu_listener *listener,
                            hu_saved_run *run);
void hu_saved_run_close(hu_saved_run *run);

/* Of a folder without a checkpoint: HU_ERR_MISSING if its run has ended all the same, which would
 * be trained anew, over its result. */
hu_status hu_saved_run_check_open(const char *directory);

/* ---- The weights that a training begins with ---- */

/* Takes the weights of model.init, a file, the folder of a run (those of its newest checkpoint) or
 * check (train/trainer.h), whose hash becomes part of the configuration; drawn weights stay.
 * init.only, init.skip and init.strict say which of a file's. What of it was not taken is told to
 * the listener. Errors as hu_trainer_import and hu_saved_run_open. */
hu_status hu_initial_weights(hu_config *config, hu_trainer *trainer, const hu_listener *listener);

/* Of a run whose weights were taken, all of them: warns where it calls some class otherwise than
 * the data do, as the head then begins with what it said of others. HU_ERR_MEMORY. */
hu_status hu_initial_classes(const hu_config *config, const hu_dataset *dataset,
                             const hu_trainer *trainer, const hu_listener *listener);

#endif
