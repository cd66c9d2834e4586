/* settings/options.h - from a configuration to what the trainer takes: recipes fill what the user
 * left open. */
#ifndef HU_SESSION_OPTIONS_H
#define HU_SESSION_OPTIONS_H
#include "config/config.h"
#include "train/trainer.h"

/* Fills every "auto" of the configuration for this data set and translates it. precision owns its
 * rules and must outlive the options; free it with hu_precision_free. */
hu_status hu_options_train(hu_config *config, const hu_dataset *dataset, hu_precision *precision,
                           hu_train_options *options);

/* Adds copies of the keys that the user gave to a map. */
hu_status hu_options_given(const hu_config *config, hu_keys *given);

/* A new configuration with the keys that the user gave; owner frees with hu_config_free. */
hu_status hu_options_copy(const hu_config *config, hu_config **copy);

#endif
