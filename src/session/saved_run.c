/* session/saved_run.c - a run folder opened again: its configuration, and a trainer with its
 * weights. */
#include "session/saved_run.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "journal/folder.h"
#include "session/data.h"
#include "session/options.h"

/* model.init is part of what the run is: another file would be another run. */
static hu_status check_init(const hu_keys *saved, const hu_keys *given) {
    const hu_keys *now = hu_keys_find(given, "model.init");
    const hu_keys *first = hu_keys_find(saved, "model.init");
    const char *name = first ? hu_keys_value(first) : "none";
    if (!now || strcmp(hu_keys_value(now), name) == 0) return HU_OK;
    return hu_keys_fail(now, "'%.200s': a run keeps the weights that it was begun with", name);
}

hu_status hu_saved_run_merge(hu_config *config, const char *directory) {
    hu_status st = HU_OK;
    char *path = NULL;
    hu_keys *saved = NULL, *given = NULL;
    HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, "command line", &given));
    HU_TRY(hu_options_given(config, given));
    HU_TRY(hu_run_folder_config(directory, &path));
    HU_TRY(hu_yaml_read(path, &saved));
    HU_TRY(check_init(saved, given));
    HU_TRY(hu_config_merge(config, saved));
    /* The folder names steps, which win over epochs. */
    if (hu_keys_find(given, "run.epochs") && !hu_keys_find(given, "run.steps"))
        HU_TRY(hu_keys_set_text(given, "run.steps", "auto", "command line"));
    if (hu_keys_count(given) > 0) HU_TRY(hu_config_merge(config, given));
done:
    hu_keys_free(saved);
    hu_keys_free(given);
    hu_free(path);
    return st;
}

hu_status hu_saved_run_open(hu_config *config, const char *directory, const hu_listener *listener,
                            hu_saved_run *run) {
    hu_status st = HU_OK;
    hu_checkpoint *checkpoint = NULL;
    char path[4096], warning[1024];
    *run = (hu_saved_run){.directory = directory};
    HU_TRY(hu_saved_run_merge(config, directory));
    HU_TRY(hu_session_dataset(config, listener, &run->dataset));
    HU_TRY(hu_options_train(config, run->dataset, &run->precision, &run->options));
    HU_TRY(hu_trainer_create(&run->options, run->dataset, &run->trainer));
    snprintf(path, sizeof path, "%s/checkpoint", directory);
    HU_TRY(hu_checkpoint_open_newest(path, &checkpoint, warning, sizeof warning));
    if (warning[0]) hu_listener_tell(listener, "%s", warning);
    HU_TRY(hu_trainer_restore(run->trainer, checkpoint));
    run->step = hu_trainer_progress(run->trainer)->step;
done:
    hu_checkpoint_free(checkpoint);
    if (st != HU_OK) hu_saved_run_close(run);
    return st;
}

void hu_saved_run_close(hu_saved_run *run) {
    hu_trainer_free(run->trainer);
    hu_precision_free(&run->precision);
    hu_dataset_close(run->dataset);
    *run = (hu_saved_run){0};
}
