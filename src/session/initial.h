/* session/initial.h - the weights that a training begins with. */
#ifndef HU_SESSION_INITIAL_H
#define HU_SESSION_INITIAL_H
#include "config/config.h"
#include "train/trainer.h"

/* Takes the weights of model.init, whose hash becomes part of the configuration; drawn weights
 * stay. Errors as hu_trainer_import. */
hu_status hu_initial_weights(hu_config *config, hu_trainer *trainer);

#endif
