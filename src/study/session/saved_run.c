/* session/saved_run.c - a run folder opened again: its configuration, and a trainer with its
 * weights. */
#include "session/saved_run.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/class_names.h"
#include "data/image_list.h"
#include "data/vocabulary.h"
#include "runlog/folder.h"
#include "runlog/graph_json.h"
#include "runlog/run_list.h"
#include "settings/dataset.h"
#include "settings/options.h"
#include "settings/saved_data.h"
#include "train/trainer.h"
#include "train/weights.h"

/* Whether the data that are asked for now are spelled otherwise than those of the run. */
static bool is_other_data(const hu_keys *saved, const hu_keys *given) {
    const hu_keys *now = hu_keys_find(given, "data.name"), *own = hu_keys_find(saved, "data.name");
    return now && own && strcmp(hu_keys_value(now), hu_keys_value(own)) != 0;
}

/* Whether data.validation is that of another folder without a test half, which is looked at. */
static bool draws_from_others(const hu_keys *saved, const hu_keys *given) {
    bool is_flat = false;
    if (!is_other_data(saved, given)) return false;
    const char *images =
        hu_image_held_out_directory(hu_keys_value(hu_keys_find(given, "data.name")));
    return images && hu_image_held_out_is_flat(images, &is_flat) == HU_OK && is_flat;
}

/* Whether what is given now is what was, or a text that stands for it in folders without. */
static bool is_same(const hu_keys *now, const hu_keys *first, const char *name) {
    bool is_list = hu_keys_kind_of(now) == HU_KEYS_LIST;
    if (is_list && first) return hu_keys_equal(now, first);
    return is_list ? hu_keys_count(now) == 0 : strcmp(hu_keys_value(now), name) == 0;
}

/* Another one of these would be another run. A folder of an older version has no word about some.
 * looks: nothing is trained. */
static hu_status check_kept(const hu_keys *saved, const hu_keys *given, bool looks) {
    static const struct {
        const char *key, *missing, *what;
    } kept[] = {{"model.name", NULL, "its model"},
                {"model.init", "none", "the weights that it was begun with"},
                {"init.only", "", "the part of them that it took"},
                {"init.skip", "", "the part of them that it took"},
                {"init.strict", "on", "the part of them that it took"},
                {"task.name", NULL, "its task"},
                {"task.loss", NULL, "its loss"},
                {"data.validation", "0", "the samples that it holds out"},
                {"data.unit", "byte", "the tokens of its text"},
                {"data.vocabulary", "auto", "its vocabulary"},
                {"data.source", "none", "the language that it translates"},
                {"data.target", "none", "the language that it translates into"},
                {"data.source_vocabulary", "auto", "its vocabulary"}};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const hu_keys *now = hu_keys_find(given, kept[i].key);
        const hu_keys *first = hu_keys_find(saved, kept[i].key);
        const char *name = first ? hu_keys_value(first) : kept[i].missing;
        if (!now || !name || is_same(now, first, name)) continue;
        if (strcmp(hu_keys_value(now), "auto") == 0) continue;
        if (strcmp(kept[i].key, "data.validation") == 0 && looks && draws_from_others(saved, given))
            continue;
        (void)hu_keys_fail(now, "'%.200s': a run keeps %s", name, kept[i].what);
        return HU_ERR_ARGUMENT; /* the text itself is well */
    }
    return HU_OK;
}

static hu_status recall_file(const char *directory, const char *file, const char *key,
                             hu_keys *saved) {
    char *path;
    bool is_present = false;
    hu_status st = hu_path_join(directory, file, &path);
    if (st == HU_OK) st = hu_file_find(path, &is_present);
    if (is_present) st = hu_keys_set_text(saved, key, path, hu_keys_origin(saved));
    hu_free(path);
    return st;
}

/* The words of a text keep their numbers, also where another text is read. */
static hu_status recall_vocabulary(const char *directory, hu_keys *saved) {
    hu_status st = recall_file(directory, HU_VOCABULARY_FILE, "data.vocabulary", saved);
    return st == HU_OK
               ? recall_file(directory, HU_VOCABULARY_SOURCE_FILE, "data.source_vocabulary", saved)
               : st;
}

/* Whether data are of one kind: what stands before the colon. */
static bool is_same_kind(const char *a, const char *b) {
    size_t length = strcspn(a, ":");
    return length == strcspn(b, ":") && strncmp(a, b, length) == 0;
}

/* What the run made of its pictures and sounds is none of the business of data of another kind:
 * whoever asks for such has not typed it. */
static hu_status forget_other_kind(hu_keys *saved, const hu_keys *given) {
    static const char *const of_kind[] = {
        "data.size",       "data.crop",   "data.scales", "data.scale",   "data.crops",
        "data.frames",     "data.rate",   "data.area",   "data.classes", "data.part",
        "data.unlabelled", "data.labels", "data.damaged"};
    const hu_keys *now = hu_keys_find(given, "data.name"), *own = hu_keys_find(saved, "data.name");
    hu_status st = HU_OK;
    if (!now || !own || is_same_kind(hu_keys_value(now), hu_keys_value(own))) return HU_OK;
    for (size_t i = 0; st == HU_OK && i < sizeof of_kind / sizeof *of_kind; i++)
        st = hu_keys_set_text(saved, of_kind[i], hu_config_key_find(of_kind[i])->preset,
                              hu_keys_origin(saved));
    return st;
}

/* has_other_data: NULL where the run is gone on with. */
static hu_status merge(hu_config *config, const char *directory, bool *has_other_data) {
    hu_status st = HU_OK;
    char *path = NULL;
    hu_keys *saved = NULL, *given = NULL;
    HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, "command line", &given));
    HU_TRY(hu_options_given(config, given));
    HU_TRY(hu_run_folder_config(directory, &path));
    HU_TRY(hu_yaml_read(path, &saved));
    HU_TRY(check_kept(saved, given, has_other_data != NULL));
    if (has_other_data) *has_other_data = is_other_data(saved, given);
    HU_TRY(forget_other_kind(saved, given));
    /* How processes meet is theirs: a run of a cluster goes on at a desk. */
    HU_TRY(hu_keys_set_text(saved, "comm.transport", "auto", hu_keys_origin(saved)));
    if (hu_keys_find(given, "precision.name"))
        HU_TRY(hu_options_forget_bits(saved, hu_keys_value(hu_keys_find(given, "precision.name"))));
    HU_TRY(recall_vocabulary(directory, saved));
    HU_TRY(hu_config_recall(config, saved));
    /* The folder names steps, which win over epochs. */
    if (hu_keys_find(given, "run.epochs") && !hu_keys_find(given, "run.steps"))
        HU_TRY(hu_keys_set_text(given, "run.steps", "auto", "command line"));
    if (hu_keys_count(given) > 0) HU_TRY(hu_config_merge(config, given));
    HU_TRY(hu_config_network_recall(config, directory));
done:
    hu_keys_free(saved);
    hu_keys_free(given);
    hu_free(path);
    return st;
}

hu_status hu_saved_run_merge(hu_config *config, const char *directory) {
    return merge(config, directory, NULL);
}

hu_status hu_saved_run_data(hu_config *config, const char *directory, const hu_listener *listener,
                            hu_dataset **dataset) {
    hu_data_known known;
    char *class_names = NULL;
    *dataset = NULL;
    hu_status st = hu_dataset_info_read(directory, false, &known, &class_names);
    if (st == HU_OK) st = hu_session_dataset_known(config, listener, &known, dataset);
    hu_free(class_names);
    return st;
}

/* The first value of the run that has no equal here. */
static hu_value_id other_value(const hu_graph *run, const hu_graph *here, hu_value_id *found) {
    for (hu_value_id v = 0; v < run->value_count; v++) {
        *found = hu_graph_find(here, run->value[v].name);
        if (*found == HU_NONE || !hu_shape_equal(&run->value[v].shape, &here->value[*found].shape))
            return v;
    }
    return HU_NONE;
}

/* In place of the trainer's own message, which knows no shapes of the run; that one stays where the
 * folder's graph cannot be read or tells of no difference. */
static hu_status explain_shapes(const hu_config *config, const char *directory,
                                const hu_graph *here) {
    hu_graph *run = NULL;
    hu_value_id found, v = HU_NONE;
    char message[1024], expected[128], shape[128] = "none";
    const char *model = "", *data = "";
    snprintf(message, sizeof message, "%s", hu_last_error());
    if (hu_graph_read(directory, &run) == HU_OK) v = other_value(run, here, &found);
    if (v != HU_NONE) {
        hu_config_text(config, "model.name", &model);
        hu_config_text(config, "data.name", &data);
        hu_shape_print(&run->value[v].shape, expected, sizeof expected);
        if (found != HU_NONE) hu_shape_print(&here->value[found].shape, shape, sizeof shape);
        snprintf(message, sizeof message,
                 "'%s' of model %s on data %s: found %s, expected %s as in %s; a run keeps its "
                 "model and its shapes",
                 run->value[v].name, model, data, shape, expected, directory);
    }
    hu_graph_free(run);
    return hu_fail(HU_ERR_SHAPE, "%s", message);
}

hu_status hu_saved_run_restore(const hu_config *config, const char *directory, hu_trainer *trainer,
                               const hu_checkpoint *checkpoint) {
    hu_status st = hu_trainer_restore(trainer, checkpoint);
    if (st == HU_ERR_SHAPE) st = explain_shapes(config, directory, hu_trainer_graph(trainer));
    return st;
}

/* Files in place of all samples. */
static void take_files(const hu_saved_run *run, hu_data_known *known) {
    if (run->files.count == 0) return;
    known->files = (const char *const *)run->files.path;
    known->file_count = run->files.count;
    known->only_test = true;
}

/* A text in place of all samples: only a run that has learned to tell the next token goes on with
 * one. */
static hu_status take_prompts(const hu_config *config, const hu_saved_run *run,
                              hu_data_known *known) {
    static const char kind[] = "text:";
    const char *data = "";
    hu_config_text(config, "data.name", &data);
    if (!run->prompts) return HU_OK;
    known->prompts = known->only_test = true;
    if (strncmp(data, kind, strlen(kind)) == 0) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "text: found a text, which only a run of text:FILE can go on with; %s "
                   "was trained on %s",
                   run->directory, data);
}

/* The run's data.valid= would be judged in place of the other text that is asked for. */
static hu_status check_judged(const hu_config *config, const hu_saved_run *run) {
    const char *data = "", *valid = "none";
    hu_config_text(config, "data.name", &data);
    hu_config_text(config, "data.valid", &valid);
    bool is_own = strcmp(valid, "none") == 0 || hu_config_asked(config, "data.valid");
    if (!run->has_other_data || run->prompts || is_own) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "data: found %s beside the run's data.valid=%s, which would be judged; expected "
                   "data.valid=FILE to judge that file, or data.valid=none for the end of the data",
                   data, valid);
}

/* The samples that the run is to look at: its own, or others. */
static hu_status open_samples(hu_config *config, const char *directory, const hu_listener *listener,
                              hu_saved_run *run) {
    hu_status st = HU_OK;
    hu_data_known known;
    char *class_names = NULL;
    bool takes_all;
    HU_TRY(check_judged(config, run));
    HU_TRY(hu_held_out_images_other(config, directory, listener, &run->has_other_data, &takes_all));
    run->has_other_data = run->has_other_data || run->files.count > 0;
    HU_TRY(hu_dataset_info_read(directory, run->has_other_data, &known, &class_names));
    take_files(run, &known);
    HU_TRY(take_prompts(config, run, &known));
    known.needs_no_truth = run->allows_unlabelled && known.only_test;
    HU_TRY(hu_session_dataset_known(config, listener, &known, &run->dataset));
    if (run->files.count == 0) hu_held_out_images_tell(run->dataset, takes_all, listener);
    /* Nothing is trained on other data: they need not fill a batch. */
    if (run->dataset->only_test || run->has_other_data)
        HU_TRY(hu_config_replace(config, "data.drop_last", "off", "other data are looked at"));
done:
    hu_free(class_names);
    return st;
}

/* What the folder remembers of its data is enough for weights; dataset NULL where it does not. */
static hu_status remember_data(const hu_config *config, const char *directory, hu_saved_run *run) {
    if (!run->only_weights || hu_unread_data_is_overruled(config)) return HU_OK;
    hu_status st = hu_unread_data_open(config, directory, &run->dataset);
    return st == HU_ERR_MEMORY ? st : HU_OK;
}

/* How samples are ordered and changed, which asks for lengths and pictures that nobody reads. */
static void forget_order(hu_train_options *options) {
    options->augment = (hu_augment){0};
    options->keep_order = true; /* an order takes room for every sample that the folder tells of */
    options->sorted_epochs = 0;
    options->buckets = NULL;
}

hu_status hu_saved_run_read(hu_config *config, const char *directory, const hu_listener *listener,
                            hu_saved_run *run) {
    hu_status st = HU_OK;
    *run = (hu_saved_run){.directory = directory,
                          .allows_unlabelled = run->allows_unlabelled,
                          .only_weights = run->only_weights,
                          .files = run->files,
                          .prompts = run->prompts};
    HU_TRY(merge(config, directory, &run->has_other_data));
    HU_TRY(remember_data(config, directory, run));
    bool is_unread = run->dataset != NULL;
    if (!is_unread) HU_TRY(open_samples(config, directory, listener, run));
    HU_TRY(hu_options_train(config, run->dataset, &run->precision, &run->options));
    if (is_unread) forget_order(&run->options);
done:
    if (st != HU_OK) hu_saved_run_close(run);
    return st;
}

/* The checkpoint that eval.checkpoint names. */
static hu_status open_checkpoint(const hu_config *config, const char *directory,
                                 hu_checkpoint **checkpoint, char *warning, size_t capacity) {
    const char *which;
    char path[4096];
    hu_status st = hu_config_text(config, "eval.checkpoint", &which);
    if (st != HU_OK) return st;
    bool is_best = strcmp(which, "best") == 0;
    snprintf(path, sizeof path, "%s/%s", directory, is_best ? HU_BEST_FOLDER : "checkpoint");
    st = hu_checkpoint_open_newest(path, checkpoint, warning, capacity);
    if (st != HU_ERR_MISSING || !is_best) return st;
    return hu_fail(HU_ERR_MISSING,
                   "checkpoint=best: %s keeps none: it was not evaluated, or trained with "
                   "run.keep_best=off or by an older version",
                   directory);
}

/* The run's own samples must be those that it was trained on. */
static hu_status check_samples(const hu_config *config, const hu_saved_run *run,
                               const hu_listener *listener) {
    hu_changed_data found = {0};
    if (run->only_weights || run->has_other_data || run->prompts || run->dataset->only_test)
        return HU_OK;
    hu_status st = hu_changed_data_find(config, run->dataset, run->directory, listener, &found);
    hu_changed_data_free(&found);
    return st;
}

/* A run that is only looked at needs no workers. Passes stay of as many samples as a worker's, and
 * products as the formats on the wire had them chosen. */
static hu_status drop_workers(hu_train_options *options) {
    int64_t workers = options->comm.options.workers;
    hu_status st = HU_OK;
    bool keeps;
    if (workers == 0) return HU_OK;
    HU_TRY(hu_wire_formats_keep_range(&options->comm, &keeps));
    if (options->run.products == HU_ENGINE_FASTEST && !keeps) options->run.products = HU_ENGINE_OWN;
    int64_t parts = options->batch / workers < options->accumulate ? options->batch
                                                                   : options->accumulate * workers;
    options->accumulate = parts;
    options->comm = (hu_train_comm){0};
done:
    return st;
}

hu_status hu_saved_run_open(hu_config *config, const char *directory, const hu_listener *listener,
                            hu_saved_run *run) {
    hu_status st = HU_OK;
    hu_checkpoint *checkpoint = NULL;
    char warning[1024];
    HU_TRY(hu_saved_run_read(config, directory, listener, run));
    HU_TRY(drop_workers(&run->options));
    HU_TRY(hu_trainer_create(&run->options, run->dataset, &run->trainer));
    if (!run->only_weights) HU_TRY(hu_sounds_tell(run->trainer, run->dataset, listener));
    HU_TRY(open_checkpoint(config, directory, &checkpoint, warning, sizeof warning));
    if (warning[0]) hu_listener_tell(listener, "%s", warning);
    HU_TRY(hu_saved_run_restore(config, directory, run->trainer, checkpoint));
    run->step = hu_trainer_progress(run->trainer)->step;
    HU_TRY(check_samples(config, run, listener));
done:
    hu_checkpoint_free(checkpoint);
    if (st != HU_OK) hu_saved_run_close(run);
    return st;
}

hu_status hu_saved_run_check_open(const char *directory) {
    json_t *result;
    hu_status st = hu_result_read(directory, &result);
    if (st != HU_OK || !result) return st;
    json_decref(result);
    return hu_fail(HU_ERR_MISSING,
                   "%s: found result.json of a run that has ended, and no checkpoint, expected one "
                   "in %s/checkpoint; remove result.json to train it again from step 0",
                   directory, directory);
}

void hu_saved_run_close(hu_saved_run *run) {
    hu_trainer_free(run->trainer);
    hu_precision_free(&run->precision);
    hu_dataset_close(run->dataset);
    hu_given_files_free(&run->files);
    *run = (hu_saved_run){0};
}

/* ---- The weights that a training begins with ---- */

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
 * after the other. */
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
