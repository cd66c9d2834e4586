/* session/initial.c - where a training begins that does not begin with drawn weights. */
#include "session/initial.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "train/weights.h"

hu_status hu_initial_weights(hu_config *config, hu_trainer *trainer) {
    hu_status st = HU_OK;
    const char *path;
    char hash[32];
    HU_TRY(hu_config_text(config, "model.init", &path));
    if (strcmp(path, "none") == 0) return HU_OK;
    HU_TRY(hu_trainer_import(trainer, path));
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)hu_trainer_init_hash(trainer));
    HU_TRY(hu_config_set(config, "model.init_hash", hash, "model.init"));
done:
    return st;
}
