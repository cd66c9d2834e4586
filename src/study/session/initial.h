/* session/initial.h - the weights that a training begins with. */
#ifndef HU_SESSION_INITIAL_H
#define HU_SESSION_INITIAL_H
#include "config/config.h"
#include "settings/messages.h"
#include "train/trainer.h"

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
