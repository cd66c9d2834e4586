/* The chosen assignment by tensor names, for models other than the one that was searched. */
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "session/options.h"
#include "sweep/assign.h"
#include "train/adapt.h"

hu_status hu_assign_write_resolved(const hu_assign *assign, const char *plan_path,
                                   const char *path) {
    hu_status st = HU_OK;
    hu_config *config = NULL;
    hu_precision precision = {0};
    hu_trainer *trainer = NULL;
    hu_train_options options;
    char *yaml = NULL;
    HU_TRY(hu_assign_config(assign, plan_path, &config));
    HU_TRY(hu_options_train(config, assign->dataset, &precision, &options));
    HU_TRY(hu_trainer_create(&options, assign->dataset, &trainer));
    HU_TRY(hu_trainer_resolved_plan(trainer, &yaml));
    HU_TRY(hu_file_replace(path, yaml, strlen(yaml)));
done:
    hu_free(yaml);
    hu_trainer_free(trainer);
    hu_precision_free(&precision);
    hu_config_free(config);
    return st;
}
