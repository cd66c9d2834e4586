#include <math.h>
#include <stdio.h>
#include <string.h>

#include <halfulp/train.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/fields.h"
#include "engine/run.h"
#include "graph/tensor_order.h"
#include "model/model.h"
#include "session/net.h"
#include "session/saved_run.h"
#include "session/session.h"
#include "settings/dataset.h"
#include "settings/options.h"
#include "train/trainer.h"
#include "train/weights.h"

/* ---- training ---- */

/* The public training: settings resolved as the program does, and the trainer after a handle. */

/* Room for three names in a message; settings of one training, of which keys have hundreds. */
enum { TRAINING_NEAREST_BYTES = 256, SETTINGS_MAX = 1 << 16 };

/* One training of a program's own. Without run.dir it has no folder: what is kept is up to the
 * program. */
struct hu_training {
    hu_config *config;
    hu_dataset *opened;     /* NULL: the caller's */
    const hu_dataset *data; /* opened, or the caller's */
    hu_precision precision;
    hu_trainer *trainer; /* the session's, where there is one */
    hu_tensor_order walk;
    int64_t steps;
    int64_t samples;                        /* of the latest step */
    char tensor_name[HU_TENSOR_NAME_BYTES]; /* lent by hu_training_tensor_at */
    char tensor_format[HU_QUANTIZER_BYTES];

    bool has_folder;    /* that of the session */
    bool has_ended;     /* the session has: it has a result, or a failure */
    hu_session session; /* of a training with a folder */
    hu_session_result result;
};

/* ---- opening ---- */

/* The settings as words of a command line. Owner frees *words, which is one block. */
static hu_status make_words(const hu_setting *settings, size_t count, char ***words) {
    size_t bytes = (count + 1) * sizeof(char *);
    for (size_t i = 0; i < count; i++) {
        if (!settings[i].key || !settings[i].value)
            return hu_fail(HU_ERR_ARGUMENT, "setting %zu has no key or no value", i + 1);
        bytes += strlen(settings[i].key) + strlen(settings[i].value) + 2;
    }
    void *block;
    hu_status st = hu_alloc(bytes, &block);
    if (st != HU_OK) return st;
    *words = block;
    char *at = (char *)(*words + count + 1);
    (*words)[0] = at - 1; /* the place of a program's name, which is skipped */
    for (size_t i = 0; i < count; i++) {
        (*words)[i + 1] = at;
        /* Key, '=', value and the final zero: what was counted above. */
        at += sprintf(at, "%s=%s", settings[i].key, settings[i].value) + 1;
    }
    return HU_OK;
}

/* Settings go the way of words of the command line: the same keys, short forms and errors. */
static hu_status read_settings(const hu_setting *settings, size_t count, hu_config **config) {
    /* Flags change what a program prints, and nothing is printed here. */
    static const char *const no_flags[] = {NULL};
    hu_status st = HU_OK;
    char **words = NULL;
    HU_TRY(make_words(settings, count, &words));
    hu_config_request request = {
        .argc = (int)count + 1, .argv = words, .verb_index = 0, .flags = no_flags};
    HU_TRY(hu_config_load(&request, config));
done:
    hu_free(words);
    return st;
}

/* A network of the program's own has no row of the table that would name its task. */
static hu_status name_net(const hu_net *net, hu_config *config, hu_custom_net *own) {
    hu_status st = HU_OK;
    if (!net) return HU_OK;
    if (hu_config_asked(config, "model.name"))
        return hu_fail(HU_ERR_ARGUMENT, "found a network and the setting model, expected one");
    if (!hu_net_path(net)) HU_TRY(hu_net_own(net, own));
    /* The origin "net" tells in messages who has set these keys. A file goes the way of the key. */
    if (hu_net_path(net)) return hu_config_set(config, "model.name", hu_net_path(net), "net");
    HU_TRY(hu_config_set(config, "model.name", HU_OWN_MODEL, "net"));
    HU_TRY(hu_config_set(config, "task.name", "classify", "net"));
done:
    return st;
}

/* The folder that the settings name; false: none is wanted. *directory NULL: a new one, run.name.
 */
static hu_status find_folder(const hu_config *config, const char **directory, bool *is_wanted) {
    hu_status st = hu_config_text(config, "run.dir", directory);
    bool is_auto = st == HU_OK && strcmp(*directory, "auto") == 0;
    if (st == HU_OK && !**directory)
        st = hu_fail(HU_ERR_ARGUMENT, "run.dir: found '', expected a folder");
    if (is_auto) *directory = NULL;
    *is_wanted = st == HU_OK && (!is_auto || !hu_config_is_auto(config, "run.name"));
    return st;
}

/* Of a training whose steps have ended, however: the last row of the journal, and what it has come
 * to. A failure is handed on, and said as it was. */
static hu_status end_session(hu_training *t, hu_status status) {
    t->has_ended = true;
    hu_status st = hu_session_end(&t->session, status, &t->result);
    return st == HU_OK ? hu_session_write_result(&t->session, &t->result) : st;
}

/* What `halfulp train` and `halfulp resume` leave, but for the page. */
static hu_status open_session(hu_training *t, const hu_dataset *data, const hu_custom_net *own,
                              const char *directory, bool resume) {
    hu_status st;
    HU_TRY(hu_session_open(t->config, data, own, directory, resume, NULL, NULL, &t->session));
    t->has_folder = true;
    t->trainer = t->session.trainer;
    t->steps = t->session.steps;
    HU_TRY(hu_session_begin(&t->session, &t->result));
    /* A run that has ended before lost its result as it was opened: it gets it again. */
    if (hu_session_is_over(&t->session)) st = end_session(t, HU_OK);
done:
    return st;
}

/* The order of `halfulp train`: options, trainer, first weights. */
static hu_status open_alone(hu_training *t, const hu_dataset *data, const hu_custom_net *own) {
    hu_status st;
    hu_train_options options;
    HU_TRY(hu_options_train(t->config, data, &t->precision, &options));
    options.own = own;
    HU_TRY(hu_trainer_create(&options, data, &t->trainer));
    HU_TRY(hu_initial_weights(t->config, t->trainer, NULL));
    t->steps = options.steps;
done:
    return st;
}

/* folder: of the run that is gone on with; NULL: a new one. A data set of the caller's stays the
 * caller's; one that is opened here is closed with the training. */
static hu_status open_training(hu_training *t, const hu_net *net, const hu_dataset *data,
                               const char *folder) {
    hu_status st = HU_OK;
    hu_custom_net own = {.head = HU_NONE};
    const char *directory = folder;
    bool has_folder = true;
    HU_TRY(name_net(net, t->config, &own));
    if (folder) HU_TRY(hu_saved_run_merge(t->config, folder));
    if (!data)
        HU_TRY(folder ? hu_saved_run_data(t->config, folder, NULL, &t->opened)
                      : hu_session_dataset(t->config, NULL, &t->opened));
    if (!data) data = t->opened;
    t->data = data;
    if (!folder) HU_TRY(find_folder(t->config, &directory, &has_folder));
    if (has_folder) HU_TRY(hu_dataset_need_samples(&data->test)); /* which a run is judged by */
    HU_TRY(has_folder ? open_session(t, data, own.graph ? &own : NULL, directory, folder != NULL)
                      : open_alone(t, data, own.graph ? &own : NULL));
    const hu_edge_table *edges = hu_run_edges(hu_trainer_run(t->trainer));
    st = hu_tensor_order_create(hu_trainer_graph(t->trainer),
                                hu_tensor_order_more(edges) & HU_WALK_WEIGHTS, &t->walk);
done:
    return st;
}

static hu_status make_training(const hu_net *net, const hu_setting *settings, size_t count,
                               const hu_dataset *data, const char *folder, hu_training **training) {
    hu_status st = HU_OK;
    void *block = NULL;
    HU_TRY(hu_alloc(sizeof **training, &block));
    hu_training *made = block;
    HU_TRY(read_settings(settings, count, &made->config));
    HU_TRY(open_training(made, net, data, folder));
    *training = made;
    block = NULL;
done:
    hu_training_close(block);
    return st;
}

hu_status hu_training_open(const hu_net *net, const hu_setting *settings, size_t count,
                           const hu_dataset *data, hu_training **training) {
    HU_GIVEN(training);
    *training = NULL;
    HU_GIVEN_IF(settings, count > 0);
    HU_GIVEN_MOST(count, SETTINGS_MAX);
    return make_training(net, settings, count, data, NULL, training);
}

hu_status hu_training_reopen(const hu_net *net, const hu_setting *settings, size_t count,
                             const hu_dataset *data, const char *folder, hu_training **training) {
    HU_GIVEN(training);
    *training = NULL;
    HU_GIVEN(folder);
    HU_GIVEN_IF(settings, count > 0);
    HU_GIVEN_MOST(count, SETTINGS_MAX);
    return make_training(net, settings, count, data, folder, training);
}

const char *hu_training_folder(const hu_training *training) {
    return training && training->has_folder ? training->session.folder.path : NULL;
}

/* One that is left before its end is stopped, as by Ctrl-C: it can be gone on with. */
static void leave_session(hu_training *t) {
    char words[1024];
    if (!t->has_folder) return;
    snprintf(words, sizeof words, "%s", hu_last_error());
    if (!t->has_ended) (void)end_session(t, hu_session_stop(&t->session));
    hu_session_close(&t->session);
    t->trainer = NULL;
    (void)hu_fail(HU_OK, "%s", words); /* what failed before is told, not that it was stopped */
}

/* In the reverse order: the walk borrows the trainer's graph, the trainer borrows the data set and
 * the precision. */
void hu_training_close(hu_training *training) {
    if (!training) return;
    hu_tensor_order_free(&training->walk);
    leave_session(training);
    hu_trainer_free(training->trainer);
    hu_precision_free(&training->precision);
    hu_dataset_close(training->opened);
    hu_config_free(training->config);
    hu_free(training);
}

/* ---- training ---- */

/* The public result of a step. Texts are borrowed until the next step. */
static hu_step step_of(const hu_step_report *report) {
    return (hu_step){.step = report->step,
                     .epoch = report->epoch,
                     .samples = report->samples,
                     .loss = report->loss,
                     .metric = report->metric,
                     .lr = report->lr,
                     .gradient_norm = report->gradient_norm,
                     .low_ratio = report->low_ratio,
                     .scale = report->scale,
                     .skipped = report->skipped,
                     .promoted = report->promoted,
                     .culprit = report->culprit};
}

/* A step with all that it leaves in the folder; after the last one the result. */
static hu_status step_in_folder(hu_training *t, hu_step_report *report) {
    hu_status st = hu_session_step(&t->session, &t->result, report);
    bool is_over = st != HU_OK || t->result.has_diverged || hu_session_is_over(&t->session);
    if (is_over) st = end_session(t, st);
    if (st == HU_OK && t->result.has_diverged)
        st = hu_fail(HU_ERR_NONFINITE, "%s", t->result.reason);
    return st;
}

/* Of samples of the data set, or of those that were given. */
static hu_status make_step(hu_training *training, hu_step *step) {
    hu_step_report report = {0};
    /* The caller's struct says how large it is, so that programs built with an older header go on
     * working. */
    if (step->size < sizeof step->size)
        return hu_fail(HU_ERR_ARGUMENT, "hu_step: its size is %zu, expected sizeof(hu_step)",
                       step->size);
    if (hu_training_step(training) >= training->steps)
        return hu_fail(HU_ERR_ARGUMENT, "the training of %lld steps is finished",
                       (long long)training->steps);
    if (training->has_ended)
        return hu_fail(HU_ERR_ARGUMENT, "the training has ended after %lld steps",
                       (long long)hu_training_step(training));
    hu_status st = training->has_folder ? step_in_folder(training, &report)
                                        : hu_trainer_step(training->trainer, &report);
    /* A step that broke has a report too: it says which tensor was to blame. */
    if (st != HU_OK && st != HU_ERR_NONFINITE) return st;
    hu_step made = step_of(&report);
    training->samples = report.samples;
    hu_give_struct(&made, sizeof made, step, step->size);
    return st;
}

/* Where there are no samples nothing is begun, and a run in a folder is not ended: the caller may
 * have them. */
hu_status hu_training_next(hu_training *training, hu_step *step) {
    HU_GIVEN(training);
    HU_GIVEN(step);
    hu_status st = HU_OK;
    HU_TRY(hu_dataset_need_samples(&training->data->train));
    st = make_step(training, step);
done:
    return st;
}

hu_status hu_training_push(hu_training *training, int64_t count, const float *const *rows,
                           hu_step *step) {
    HU_GIVEN(training);
    HU_GIVEN(rows);
    HU_GIVEN(step);
    const hu_given_samples given = {rows, count};
    hu_status st = hu_trainer_give(training->trainer, &given);
    if (st == HU_OK) st = make_step(training, step);
    (void)hu_trainer_give(training->trainer, NULL);
    return st;
}

/* Steps that are done; skipped ones count. */
int64_t hu_training_step(const hu_training *training) {
    if (!training) return 0;
    return hu_trainer_progress(training->trainer)->step;
}

int64_t hu_training_steps(const hu_training *training) {
    if (!training) return 0;
    return training->steps;
}

hu_status hu_training_test(hu_training *training, double *metric, double *loss) {
    HU_GIVEN(training);
    HU_GIVEN(metric);
    HU_GIVEN(loss);
    double metrics[HU_METRICS_MAX];
    hu_status st = hu_trainer_evaluate(training->trainer, metrics, loss);
    /* The task's first metric is the one that programs compare. */
    *metric = st == HU_OK ? metrics[0] : (double)NAN;
    if (st == HU_OK) hu_trainer_follow_metric(training->trainer, *metric);
    return st;
}

int hu_training_columns(const hu_training *training, const char **titles) {
    if (!training || !titles) return 0;
    _Static_assert((int)HU_PREDICTION_COLUMNS == (int)HU_TASK_COLUMNS_MAX, "train.h must agree");
    const hu_task *task = hu_trainer_task(training->trainer);
    int count = hu_task_column_count(task);
    for (int c = 0; c < count; c++) titles[c] = task->column[c].title;
    return count;
}

hu_status hu_training_predict(hu_training *training, int64_t count, double *cells) {
    HU_GIVEN(training);
    HU_GIVEN_COUNT(count);
    HU_GIVEN_IF(cells, count > 0);
    return hu_trainer_predict(training->trainer, count, cells);
}

int64_t hu_training_prediction_elements(const hu_training *training) {
    if (!training) return 0;
    return hu_trainer_prediction_elements(training->trainer);
}

hu_status hu_training_predict_rows(hu_training *training, int64_t count, const float *const *rows,
                                   float *predictions, double *loss) {
    HU_GIVEN(training);
    HU_GIVEN_COUNT(count);
    HU_GIVEN(rows);
    HU_GIVEN_IF(predictions, count > 0);
    HU_GIVEN(loss);
    const hu_given_samples given = {rows, count};
    return hu_trainer_predict_given(training->trainer, &given, predictions, loss);
}

/* ---- tensors ---- */

/* HU_ERR_UNKNOWN with the names nearest to one that is none of these. names: [count]. */
static hu_status unknown(const char *what, const char *name, const char **names, size_t count) {
    char nearest[TRAINING_NEAREST_BYTES];
    hu_nearest(name, names, count, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN, "unknown %s '%.100s', nearest: %s", what, name, nearest);
}

/* What a training changes and a checkpoint keeps: parameters and running statistics. */
static bool is_weight(const hu_value_info *value) {
    return value->role == HU_VALUE_PARAMETER || value->role == HU_VALUE_BUFFER;
}

/* HU_ERR_UNKNOWN with the nearest of the weights. */
static hu_status unknown_weight(const hu_graph *graph, const char *name) {
    void *block;
    size_t count = 0;
    hu_status st = hu_alloc_array(graph->value_count, sizeof(char *), &block);
    if (st != HU_OK) return st;
    const char **names = block;
    for (hu_value_id v = 0; v < graph->value_count; v++)
        if (is_weight(&graph->value[v])) names[count++] = graph->value[v].name;
    st = unknown("weight", name, names, count);
    hu_free(block);
    return st;
}

/* The master of a weight, [elements]. */
static hu_status find_weight(const hu_training *training, const char *name, float **numbers,
                             size_t *count) {
    const hu_graph *graph = hu_trainer_graph(training->trainer);
    hu_value_id v = hu_graph_find(graph, name);
    /* Activations have names as well, and no master. */
    if (v == HU_NONE || !is_weight(&graph->value[v])) return unknown_weight(graph, name);
    *numbers = hu_weights_of(hu_trainer_weights(training->trainer), v);
    *count = (size_t)graph->value[v].elements;
    return HU_OK;
}

hu_status hu_training_read(const hu_training *training, const char *name, float *x, size_t capacity,
                           size_t *count) {
    HU_GIVEN(training);
    HU_GIVEN(name);
    HU_GIVEN(count);
    HU_GIVEN_IF(x, capacity > 0);
    float *numbers;
    *count = 0;
    hu_status st = find_weight(training, name, &numbers, count);
    if (st != HU_OK) return st;
    /* A capacity of 0 asks for the count alone. */
    size_t wanted = *count < capacity ? *count : capacity;
    if (wanted > 0) memcpy(x, numbers, wanted * sizeof *x);
    return HU_OK;
}

hu_status hu_training_write(hu_training *training, const char *name, const float *x, size_t count) {
    HU_GIVEN(training);
    HU_GIVEN(name);
    HU_GIVEN_IF(x, count > 0);
    float *numbers;
    size_t elements;
    hu_status st = find_weight(training, name, &numbers, &elements);
    if (st != HU_OK) return st;
    if (count != elements)
        return hu_fail(HU_ERR_SHAPE, "%s: found %zu numbers, expected %zu", name, count, elements);
    memcpy(numbers, x, count * sizeof *x);
    return HU_OK;
}

/* The same for tensors that are rounded, gradients too. */
static hu_status unknown_tensor(const hu_training *training, const char *name) {
    const hu_tensor_order *walk = &training->walk;
    hu_status st = HU_OK;
    void *texts = NULL, *list = NULL;
    HU_TRY(hu_alloc_array(walk->count, HU_TENSOR_NAME_BYTES, &texts));
    HU_TRY(hu_alloc_array(walk->count, sizeof(char *), &list));
    const char **names = list;
    for (uint32_t i = 0; i < walk->count; i++) {
        char *text = (char *)texts + (size_t)i * HU_TENSOR_NAME_BYTES;
        hu_tensor_name(walk->graph, walk->tensor[i], text);
        names[i] = text;
    }
    st = unknown("tensor", name, names, walk->count);
done:
    hu_free(texts);
    hu_free(list);
    return st;
}

/* The tensor of a name; HU_ERR_UNKNOWN. */
static hu_status find_tensor(const hu_training *training, const char *text, hu_tensor *tensor) {
    const hu_tensor_order *walk = &training->walk;
    char name[HU_TENSOR_NAME_BYTES];
    for (uint32_t i = 0; i < walk->count; i++) {
        hu_tensor_name(walk->graph, walk->tensor[i], name);
        if (strcmp(name, text) != 0) continue;
        *tensor = walk->tensor[i];
        return HU_OK;
    }
    return unknown_tensor(training, text);
}

hu_status hu_training_counts(const hu_training *training, const char *tensor,
                             hu_round_counts *counts) {
    HU_GIVEN(training);
    HU_GIVEN(tensor);
    HU_GIVEN(counts);
    hu_status st = HU_OK;
    hu_tensor found;
    hu_round_counts_clear(counts);
    HU_TRY(find_tensor(training, tensor, &found));
    const hu_edge_table *edges = hu_run_edges(hu_trainer_run(training->trainer));
    *counts = hu_tensor_counts(training->walk.graph, edges, found);
done:
    return st;
}

size_t hu_training_tensor_count(const hu_training *training) {
    return training ? training->walk.count : 0;
}

/* What the field `role` of a tensor says. */
static const char *role_of(const hu_graph *graph, hu_tensor tensor) {
    static const char *const of_value[] = {
        [HU_VALUE_INPUT] = "input",         [HU_VALUE_ACTIVATION] = "activation",
        [HU_VALUE_PARAMETER] = "parameter", [HU_VALUE_BUFFER] = "statistic",
        [HU_VALUE_TARGET] = "target",       [HU_VALUE_IDS] = "input",
        [HU_VALUE_FACT] = "activation"};
    return tensor.kind == HU_TENSOR_VALUE ? of_value[graph->value[tensor.value].role] : "gradient";
}

hu_status hu_training_tensor_at(hu_training *training, size_t index, hu_training_tensor *tensor) {
    HU_GIVEN(training);
    HU_GIVEN(tensor);
    const hu_tensor_order *walk = &training->walk;
    const hu_run *run = hu_trainer_run(training->trainer);
    if (tensor->size < sizeof tensor->size)
        return hu_fail(HU_ERR_ARGUMENT, "hu_training_tensor: its size is %zu", tensor->size);
    if (index >= walk->count)
        return hu_fail(HU_ERR_ARGUMENT, "tensor %zu, expected 0 to %u", index, walk->count - 1);
    hu_tensor at = walk->tensor[index];
    const hu_value_info *value = &walk->graph->value[at.value];
    hu_tensor_name(walk->graph, at, training->tensor_name);
    hu_quantizer_print(hu_tensor_quantizer(walk->graph, hu_run_edges(run), at),
                       training->tensor_format, sizeof training->tensor_format);
    bool is_stored = value->role == HU_VALUE_PARAMETER || value->role == HU_VALUE_BUFFER;
    hu_training_tensor made = {.name = training->tensor_name,
                               .role = role_of(walk->graph, at),
                               .format = training->tensor_format,
                               .shape = value->shape,
                               .has_samples = !is_stored,
                               .parts = (int32_t)hu_run_parts(run, at)};
    hu_give_struct(&made, sizeof made, tensor, tensor->size);
    return HU_OK;
}

/* Numbers that are there without being watched: masters, and the copies that the step has used. */
static bool is_weight_itself(const hu_graph *graph, hu_tensor tensor) {
    return tensor.kind == HU_TENSOR_VALUE && is_weight(&graph->value[tensor.value]);
}

hu_status hu_training_watch(hu_training *training, const char *tensor) {
    HU_GIVEN(training);
    HU_GIVEN(tensor);
    hu_status st = HU_OK;
    hu_tensor found;
    hu_trainer *trainer = training->trainer;
    HU_TRY(find_tensor(training, tensor, &found));
    if (is_weight_itself(training->walk.graph, found)) return HU_OK;
    if (hu_run_parts(hu_trainer_run(trainer), found) == 0)
        HU_TRY(hu_fail(HU_ERR_ARGUMENT,
                       "%s: found a tensor that no pass makes by itself, expected its gradients or "
                       "values",
                       tensor));
    HU_TRY(hu_trainer_watch_tensor(trainer, found));
done:
    return st;
}

void hu_training_unwatch(hu_training *training) {
    if (training) hu_trainer_unwatch(training->trainer);
}

/* A weight: the master, or the copy in which the latest step has used it. */
static void read_weight(const hu_training *training, hu_value_id v, bool rounded, float *x,
                        size_t count) {
    const hu_trainer *trainer = training->trainer;
    bool is_trained = training->walk.graph->value[v].role == HU_VALUE_PARAMETER;
    const float *numbers = hu_weights_of(hu_trainer_weights(trainer), v);
    if (rounded && is_trained)
        numbers = hu_run_rounded_part(hu_trainer_run(trainer), v, 0, (int64_t)count, x);
    if (numbers != x) memcpy(x, numbers, count * sizeof *x);
}

hu_status hu_training_numbers(const hu_training *training, const char *tensor, int rounded,
                              float *x, size_t capacity, size_t *count) {
    HU_GIVEN(training);
    HU_GIVEN(tensor);
    HU_GIVEN(count);
    HU_GIVEN_IF(x, capacity > 0);
    hu_status st = HU_OK;
    hu_tensor found;
    *count = 0;
    HU_TRY(find_tensor(training, tensor, &found));
    const hu_run *run = hu_trainer_run(training->trainer);
    bool is_own = is_weight_itself(training->walk.graph, found);
    if (!is_own && !hu_run_is_watched(run, found))
        HU_TRY(hu_fail(HU_ERR_ARGUMENT,
                       "%s: found a tensor that is not watched, expected hu_training_watch before "
                       "the step",
                       tensor));
    if (!is_own && !hu_run_has_watched(run, found))
        HU_TRY(hu_fail(HU_ERR_ARGUMENT,
                       "%s: found no step since it is watched, expected one: numbers are kept from "
                       "the next step on",
                       tensor));
    *count = is_own ? (size_t)training->walk.graph->value[found.value].elements
                    : (size_t)hu_run_watched(run, found, training->samples, rounded != 0, NULL);
    if (capacity == 0) return HU_OK;
    if (capacity < *count)
        HU_TRY(hu_fail(HU_ERR_SHAPE, "%s: found room for %zu numbers, expected %zu", tensor,
                       capacity, *count));
    if (is_own)
        read_weight(training, found.value, rounded != 0, x, *count);
    else
        (void)hu_run_watched(run, found, training->samples, rounded != 0, x);
done:
    return st;
}

uint64_t hu_training_hash(const hu_training *training) {
    if (!training) return 0;
    return hu_trainer_weights_hash(training->trainer);
}

hu_status hu_training_bytes(const hu_training *training, const char *role, uint64_t *bytes) {
    HU_GIVEN(training);
    HU_GIVEN(role);
    HU_GIVEN(bytes);
    /* Sums of the ledger first, then the roles of the arena. */
    enum { MORE = 5, ROLES = HU_BUFFER_ROLE_COUNT + MORE };
    hu_ledger ledger = hu_trainer_ledger(training->trainer);
    const char *names[ROLES] = {"masters", "optimizer", "workers", "arena", "total"};
    uint64_t sizes[ROLES] = {ledger.parameters, ledger.optimizer, ledger.workers,
                             ledger.arena_bytes, ledger.total};
    for (int r = 0; r < HU_BUFFER_ROLE_COUNT; r++) {
        names[MORE + r] = hu_buffer_role_name((hu_buffer_role)r);
        sizes[MORE + r] = ledger.arena[r];
    }
    *bytes = 0;
    for (int r = 0; r < ROLES; r++)
        if (strcmp(names[r], role) == 0) {
            *bytes = sizes[r];
            return HU_OK;
        }
    return unknown("role", role, names, ROLES);
}

/* ---- files ---- */

hu_status hu_training_save(hu_training *training, const char *folder) {
    HU_GIVEN(training);
    HU_GIVEN(folder);
    hu_status st = HU_OK;
    hu_checkpoint_writer *writer = NULL;
    HU_TRY(hu_directory_create(folder));
    HU_TRY(hu_checkpoint_begin(hu_training_step(training), &writer));
    HU_TRY(hu_trainer_save(training->trainer, writer));
    /* The file gets its name only here: a training that is stopped before leaves no half of a
     * checkpoint. */
    HU_TRY(hu_checkpoint_finish(writer, folder, HU_CHECKPOINT_KEEP));
done:
    hu_checkpoint_writer_free(writer);
    return st;
}

hu_status hu_training_resume(hu_training *training, const char *folder) {
    HU_GIVEN(training);
    HU_GIVEN(folder);
    if (training->has_folder)
        return hu_fail(HU_ERR_ARGUMENT,
                       "found a training whose run is kept in a folder, expected one without "
                       "run.dir: hu_training_reopen goes on with a run");
    hu_status st = HU_OK;
    hu_checkpoint *checkpoint = NULL;
    /* Names a newer checkpoint that is damaged; the newest sound one is taken without a word. */
    char damaged_later[1024];
    HU_TRY(hu_checkpoint_open_newest(folder, &checkpoint, damaged_later, sizeof damaged_later));
    HU_TRY(hu_trainer_restore(training->trainer, checkpoint));
done:
    hu_checkpoint_free(checkpoint);
    return st;
}

hu_status hu_training_export(hu_training *training, const char *path) {
    HU_GIVEN(training);
    HU_GIVEN(path);
    /* Masters in the layout of torch: what other programs read. */
    hu_export_options options = {.layout = HU_WEIGHTS_TORCH};
    hu_export_report report;
    return hu_trainer_export(training->trainer, path, &options, &report);
}
