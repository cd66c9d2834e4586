/* session/unread_data.h - a run's data as its folder remembers them, without a sample: for who
 * wants the trainer's weights alone, so that they outlive the files that they were learned from. */
#ifndef HU_SESSION_UNREAD_DATA_H
#define HU_SESSION_UNREAD_DATA_H
#include <halfulp/data.h>

#include "config/config.h"

/* Fields and numbers of samples as graph.json and the latest "start" of progress.jsonl tell them;
 * reading a sample fails. What makes a trainer of it is held to the checkpoint by the names and
 * shapes of all values (hu_trainer_restore).
 *
 *   config   of the run, merged (hu_saved_run_merge)
 *   dataset  owner frees with hu_dataset_close; NULL on failure
 *
 * HU_ERR_MISSING: the folder does not tell enough, an older version wrote it; HU_ERR_CORRUPT,
 * HU_ERR_VERSION, HU_ERR_IO, HU_ERR_MEMORY. Proof: tests/program/weights_test.py. */
hu_status hu_unread_data_open(const hu_config *config, const char *directory, hu_dataset **dataset);

/* Whether any key data.* was typed now: then the user means those data. */
bool hu_unread_data_is_overruled(const hu_config *config);

#endif
