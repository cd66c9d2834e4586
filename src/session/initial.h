/* session/initial.h - the weights that a training begins with. */
#ifndef HU_SESSION_INITIAL_H
#define HU_SESSION_INITIAL_H
#include "config/config.h"
#include "train/trainer.h"

/* Takes the weights of model.init, a file or check (train/check_start.h), whose hash becomes part
 * of the configuration; drawn weights stay. Errors as hu_trainer_import. */
hu_status hu_initial_weights(hu_config *config, hu_trainer *trainer);

/* The salt of "check" or "check:SALT", NULL of any other text. Borrowed from init. */
const char *hu_check_salt(const char *init);

#endif
