/* session/initial.c - where a training begins that does not begin with drawn weights. */
#include "session/initial.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "train/weights.h"

/* "check" and "check:SALT" are no files. */
const char *hu_check_salt(const char *init) {
    size_t length = strlen("check");
    if (strncmp(init, "check", length) != 0) return NULL;
    if (init[length] == ':') return init + length + 1;
    return init[length] == '\0' ? init + length : NULL;
}

hu_status hu_initial_weights(hu_config *config, hu_trainer *trainer) {
    hu_status st = HU_OK;
    const char *path;
    char hash[32];
    HU_TRY(hu_config_text(config, "model.init", &path));
    if (strcmp(path, "none") == 0) return HU_OK;
    const char *salt = hu_check_salt(path);
    HU_TRY(salt ? hu_trainer_start_check(trainer, salt) : hu_trainer_import(trainer, path));
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)hu_trainer_init_hash(trainer));
    HU_TRY(hu_config_set(config, "model.init_hash", hash, "model.init"));
done:
    return st;
}
