/* session/initial.c - where a training begins that does not begin with drawn weights. */
#include "session/initial.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/class_names.h"
#include "session/saved_run.h"
#include "train/trainer.h"
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

/* ---- what its classes are ---- */

/* What the names of the network's last parameters begin with: "fc" of "fc.weight". */
static void name_head(const hu_graph *graph, char name[HU_NAME_BYTES]) {
    name[0] = '\0';
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const hu_node *node = &graph->node[n];
        if (node->n_params > 0)
            snprintf(name, HU_NAME_BYTES, "%s", graph->value[node->param[0]].name);
    }
    char *dot = strrchr(name, '.');
    if (dot) *dot = '\0';
}

/* The first class that the names call otherwise than the data; -1: there is none. Names stand one
 * behind the other. */
static int64_t other_class(const hu_dataset *dataset, const char *names, int64_t count,
                           const char **was) {
    for (int64_t c = 0; c < count; c++, names += strlen(names) + 1) {
        const char *now = hu_dataset_class_name(dataset, c);
        *was = names;
        if (now && strcmp(now, names) != 0) return c;
    }
    return -1;
}

static void warn_of_classes(const hu_dataset *dataset, const hu_trainer *trainer, const char *run,
                            const char *names, int64_t count, const hu_listener *listener) {
    char head[HU_NAME_BYTES];
    const char *was = NULL;
    int64_t c = other_class(dataset, names, count, &was);
    if (c < 0) return;
    name_head(hu_trainer_graph(trainer), head);
    hu_listener_tell(listener,
                     "warning: init=%s has learned other classes: number %lld is '%.60s' there and "
                     "'%.60s' here, and the head begins with what it said of the others; "
                     "init.skip='%s.*' leaves that to be drawn",
                     run, (long long)c, was, hu_dataset_class_name(dataset, c), head);
}

/* Whether a part of the weights was chosen. */
static bool has_choice(const hu_config *config) {
    hu_import_options options;
    return read_choice(config, &options) != HU_OK || hu_keys_count(options.only) ||
           hu_keys_count(options.skip);
}

hu_status hu_initial_classes(const hu_config *config, const hu_dataset *dataset,
                             const hu_trainer *trainer, const hu_listener *listener) {
    const char *run;
    char *path = NULL, *names = NULL;
    int64_t count = 0;
    hu_status st = hu_config_text(config, "model.init", &run);
    if (st != HU_OK || strcmp(run, "none") == 0 || hu_check_salt(run) || has_choice(config))
        return st;
    st = hu_path_join(run, HU_CLASS_NAMES_FILE, &path);
    /* A file of weights has none beside it, and names that cannot be read are no matter here. */
    if (st == HU_OK && hu_class_names_recall(path, &names, &count) == HU_OK && names)
        warn_of_classes(dataset, trainer, run, names, count, listener);
    hu_free(names);
    hu_free(path);
    return st;
}
