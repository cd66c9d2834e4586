/* session/initial.c - where a training begins that does not begin with drawn weights. */
#include "session/initial.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "session/saved_run.h"
#include "train/check_start.h"
#include "train/weights.h"

/* The weights of a run's newest checkpoint, as they would be exported. Owner frees both. */
static hu_status open_run(const char *directory, const hu_listener *listener, uint8_t **data,
                          hu_safetensors **file) {
    hu_status st;
    hu_config *config = NULL;
    hu_saved_run run = {.only_weights = true};
    const hu_config_request nothing = {.argc = 0};
    const hu_export_options options = {.layout = HU_WEIGHTS_HALFULP};
    hu_export_report report;
    size_t bytes;
    HU_TRY(hu_config_load(&nothing, &config));
    HU_TRY(hu_saved_run_open(config, directory, listener, &run));
    HU_TRY(hu_trainer_print(run.trainer, &options, data, &bytes, &report));
    HU_TRY(hu_safetensors_parse(directory, *data, bytes, file));
done:
    hu_saved_run_close(&run);
    hu_config_free(config);
    return st;
}

/* Whether a path is the folder of a run. */
static hu_status find_run(const char *path, bool *is_run) {
    char *config;
    *is_run = false;
    hu_status st = hu_path_join(path, "config.resolved.yaml", &config);
    if (st == HU_OK) st = hu_file_find(config, is_run);
    hu_free(config);
    return st;
}

static hu_status read_choice(const hu_config *config, hu_import_options *options) {
    hu_status st;
    bool is_strict;
    HU_TRY(hu_config_list(config, "init.only", &options->only));
    HU_TRY(hu_config_list(config, "init.skip", &options->skip));
    HU_TRY(hu_config_bool(config, "init.strict", &is_strict));
    options->is_loose = !is_strict;
done:
    return st;
}

/* Words about a part of a file, where there is none. */
static hu_status check_nothing(const hu_import_options *options, const char *init) {
    const char *key = hu_keys_count(options->only)   ? "init.only"
                      : hu_keys_count(options->skip) ? "init.skip"
                      : options->is_loose            ? "init.strict=off"
                                                     : NULL;
    if (!key) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "found %s with init=%s, expected init=FILE beside it", key,
                   init);
}

/* What was not as it usually is. */
static void tell(const hu_listener *listener, const char *path, const hu_import_report *report) {
    if (report->prefix[0])
        hu_listener_tell(listener, "init: %s has '%s' in front of its names", path, report->prefix);
    if (report->names)
        hu_listener_tell(listener, "init: %s has the names of %s", path, report->names);
    if (report->taken < report->tensors || report->left[0])
        hu_listener_tell(listener,
                         "init: took %zu of %zu tensors from %s, the others start as "
                         "drawn%s%s",
                         report->taken, report->tensors, path, report->left[0] ? "; " : "",
                         report->left);
}

static hu_status take_file(const char *path, const hu_import_options *options, hu_trainer *trainer,
                           const hu_listener *listener) {
    hu_status st;
    hu_import_report report;
    hu_safetensors *file = NULL;
    uint8_t *data = NULL;
    bool is_run;
    HU_TRY(find_run(path, &is_run));
    HU_TRY(is_run ? open_run(path, listener, &data, &file) : hu_safetensors_open(path, &file));
    HU_TRY(hu_trainer_import(trainer, path, file, options, &report));
    tell(listener, path, &report);
done:
    hu_safetensors_free(file);
    hu_free(data);
    return st;
}

hu_status hu_initial_weights(hu_config *config, hu_trainer *trainer, const hu_listener *listener) {
    hu_status st = HU_OK;
    const char *path;
    char hash[32];
    hu_import_options options;
    HU_TRY(hu_config_text(config, "model.init", &path));
    HU_TRY(read_choice(config, &options));
    const char *salt = hu_check_salt(path);
    bool is_none = strcmp(path, "none") == 0;
    if (salt || is_none) HU_TRY(check_nothing(&options, path));
    if (is_none) return HU_OK;
    HU_TRY(salt ? hu_trainer_start_check(trainer, salt)
                : take_file(path, &options, trainer, listener));
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)hu_trainer_init_hash(trainer));
    HU_TRY(hu_config_set(config, "model.init_hash", hash, "model.init"));
done:
    return st;
}
