#include "session/evaluation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "render/table.h"
#include "render/terminal.h"

static const char *evaluation_line(const hu_saved_run *run, const hu_evaluation *made,
                                   char line[HU_EVALUATION_LINE_BYTES]);

/* ---- What a task's first metric is worth without a network ---- */

hu_status hu_baseline_measure(const hu_task *task, const hu_dataset *dataset, hu_split_kind half,
                              const hu_listener *listener, hu_baseline *made) {
    char words[HU_METRIC_TEXT_BYTES], value[HU_METRIC_TEXT_BYTES];
    const hu_metric *metric = task->metric[0];
    *made = (hu_baseline){.name = task->baseline, .value = (double)NAN};
    if (!task->measure_baseline) return HU_OK;
    hu_status st = task->measure_baseline(dataset, half, &made->value);
    if (st != HU_OK) return st;
    hu_metric_words(metric, words);
    hu_listener_tell(listener, "%s alone: %s %s", made->name, words,
                     hu_metric_text(metric, made->value, value));
    return HU_OK;
}

void hu_baseline_put(const hu_baseline *baseline, json_t *object) {
    if (!object || !baseline->name) return;
    json_object_set_new(
        object, "baseline",
        json_pack("{s:s, s:o}", "name", baseline->name, "value", hu_json_number(baseline->value)));
}

/* ---- class facts ---- */

/* What the latest evaluation gave of each class of the data, where metrics
 * of the task are means over classes. */

enum { NAME_BYTES = 24 };

/* The name of a class, or its number. */
static const char *name_of(const hu_dataset *dataset, int64_t c, char number[NAME_BYTES]) {
    const char *name = hu_dataset_class_name(dataset, c);
    snprintf(number, NAME_BYTES, "%lld", (long long)c);
    return name ? name : number;
}

/* Classes with a value of the first metric that has some. */
static int64_t known(const hu_trainer *trainer, hu_split_kind half) {
    const hu_task *task = hu_trainer_task(trainer);
    int64_t classes = hu_trainer_classes(trainer), count = 0;
    int m = 0;
    while (classes > 0 && !task->metric[m]->of_class) m++;
    for (int64_t c = 0; c < classes; c++)
        count += !isnan(hu_trainer_class_metric(trainer, half, m)[c]);
    return count;
}

/* The class with all its metrics; NULL if out of memory. New reference. */
static json_t *class_json(const hu_trainer *trainer, const hu_dataset *dataset, hu_split_kind half,
                          int64_t c) {
    const hu_task *task = hu_trainer_task(trainer);
    char number[NAME_BYTES];
    json_t *object = json_pack("{s:s}", "name", name_of(dataset, c, number));
    bool is_whole = object != NULL;
    for (int m = 0; is_whole && task->metric[m]; m++) {
        const double *value = hu_trainer_class_metric(trainer, half, m);
        if (value)
            is_whole = json_object_set_new(object, task->metric[m]->class_name,
                                           hu_json_number(value[c])) == 0;
    }
    if (is_whole) return object;
    json_decref(object);
    return NULL;
}

/* A class that is left out would give its number to the next one. */
hu_status hu_class_facts_put(json_t *object, const hu_trainer *trainer, const hu_dataset *dataset,
                             hu_split_kind half) {
    if (!object || known(trainer, half) == 0) return HU_OK;
    json_t *list = json_array();
    bool is_whole = list != NULL;
    for (int64_t c = 0; is_whole && c < hu_trainer_classes(trainer); c++)
        is_whole = json_array_append_new(list, class_json(trainer, dataset, half, c)) == 0;
    if (is_whole)
        is_whole = json_object_set(
                       object, half == HU_SPLIT_VALIDATION ? "validation_classes" : "test_classes",
                       list) == 0;
    json_decref(list);
    return is_whole ? HU_OK : hu_fail(HU_ERR_MEMORY, "out of memory for the list of classes");
}

/* Titles: the metrics of the task that have a value for each class. */
static hu_status open_table(const hu_task *task, hu_table **table) {
    const char *titles[1 + HU_METRICS_MAX] = {"class"};
    int columns = 1;
    for (int m = 0; task->metric[m]; m++)
        if (task->metric[m]->of_class) titles[columns++] = task->metric[m]->class_heading;
    return hu_table_create(titles, columns, table);
}

static hu_status put_row(hu_table *table, const hu_trainer *trainer, const hu_dataset *dataset,
                         hu_split_kind half, int64_t c) {
    const hu_task *task = hu_trainer_task(trainer);
    char number[NAME_BYTES], text[HU_METRIC_TEXT_BYTES];
    hu_status st = hu_table_cell(table, "%s", name_of(dataset, c, number));
    for (int m = 0; st == HU_OK && task->metric[m]; m++) {
        const double *value = hu_trainer_class_metric(trainer, half, m);
        if (value) st = hu_table_cell(table, "%s", hu_metric_text(task->metric[m], value[c], text));
    }
    return st;
}

/* The same as a table for people; NULL where nothing is known. Owner frees *text with hu_free. */
static hu_status class_facts_text(const hu_trainer *trainer, const hu_dataset *dataset,
                                  hu_split_kind half, char **text) {
    hu_status st = HU_OK;
    hu_table *table = NULL;
    *text = NULL;
    if (known(trainer, half) == 0) return HU_OK;
    HU_TRY(open_table(hu_trainer_task(trainer), &table));
    for (int64_t c = 0; c < hu_trainer_classes(trainer); c++)
        HU_TRY(put_row(table, trainer, dataset, half, c));
    st = hu_table_print(table, text);
done:
    hu_table_free(table);
    return st;
}

/* ---- judged ---- */

/* Which samples say how good a model is: those held out, or the test samples. */

static const char *const part_names[] = {
    [HU_SPLIT_TRAIN] = "training", [HU_SPLIT_TEST] = "test", [HU_SPLIT_VALIDATION] = "validation"};

hu_status hu_evaluation_read(const hu_config *config, const hu_dataset *dataset,
                             hu_split_kind *evaluation, bool *ends_with_test) {
    const char *part;
    bool is_held = dataset->validation.count > 0;
    hu_status st = hu_config_text(config, "eval.part", &part);
    if (st != HU_OK) return st;
    if (strcmp(part, "validation") == 0 && !is_held)
        return hu_fail(HU_ERR_ARGUMENT,
                       "part: found validation, expected test: data.validation holds no "
                       "samples out%s",
                       dataset->holds_test ? ", but draws those to test with: a folder val or test "
                                             "beside train leaves it those to hold out"
                                           : "");
    is_held = is_held && strcmp(part, "test") != 0;
    *evaluation = is_held ? HU_SPLIT_VALIDATION : HU_SPLIT_TEST;
    *ends_with_test = is_held && strcmp(part, "auto") == 0;
    return HU_OK;
}

const char *hu_evaluation_text(const hu_result_metric *test, const hu_result_metric *validation,
                               int64_t held, char text[HU_EVALUATION_TEXT_BYTES]) {
    char words[HU_METRIC_TEXT_BYTES], value[HU_METRIC_TEXT_BYTES];
    text[0] = '\0';
    hu_metric_words(test->metric, words);
    if (held > 0)
        hu_note_add(text, HU_EVALUATION_TEXT_BYTES, "", "validation %s %s of %lld held out", words,
                    hu_metric_text(test->metric, validation->last, value), (long long)held);
    if (held == 0 || !isnan(test->last))
        hu_note_add(text, HU_EVALUATION_TEXT_BYTES, ", ", "test %s %s", words,
                    hu_metric_text(test->metric, test->last, value));
    return text;
}

enum { MOST_MISTAKES = 40 };

/* The files that are asked for are of a kind that is written; before anything is judged. */
static hu_status check_endings(const hu_config *config) {
    static const char *const tables[] = {"csv", NULL}, *const pages[] = {"html", "htm", NULL};
    static const struct {
        const char *key;
        const char *const *endings;
    } files[] = {{"out.file", tables}, {"out.page", pages}};
    hu_status st = HU_OK;
    for (size_t f = 0; f < sizeof files / sizeof *files && st == HU_OK; f++) {
        const char *path;
        int which;
        if (!hu_config_asked(config, files[f].key)) continue;
        st = hu_config_text(config, files[f].key, &path);
        if (st == HU_OK) st = hu_ending_find(path, files[f].endings, &which);
    }
    return st;
}

hu_status hu_evaluation_run(const hu_config *config, const hu_listener *listener, hu_saved_run *run,
                            hu_evaluation *made) {
    const char *asked = "auto";
    hu_status st = check_endings(config);
    if (st != HU_OK) return st;
    /* A part that the folder's own configuration names is that of its training. */
    if (hu_config_asked(config, "eval.part")) st = hu_config_text(config, "eval.part", &asked);
    hu_split_kind half = strcmp(asked, "validation") == 0 ? HU_SPLIT_VALIDATION : HU_SPLIT_TEST;
    made->half = half;
    made->part = part_names[half];
    if (st == HU_OK)
        st = hu_baseline_measure(hu_trainer_task(run->trainer), run->dataset, half, listener,
                                 &made->baseline);
    size_t most = hu_config_asked(config, "out.page") ? MOST_MISTAKES : 0;
    if (st == HU_OK)
        st = hu_confusion_create(run->trainer, run->dataset, half, most, &made->confusion);
    if (st != HU_OK) return st;
    bool confuses = made->confusion.classes > 0;
    return hu_trainer_evaluate_shown(run->trainer, half, confuses ? hu_confusion_note : NULL,
                                     &made->confusion, made->metrics, &made->loss);
}

void hu_evaluation_free(hu_evaluation *made) {
    hu_confusion_free(&made->confusion);
}

hu_status hu_evaluation_print(const hu_saved_run *run, const hu_evaluation *made, char **text) {
    char line[HU_EVALUATION_LINE_BYTES], *facts = NULL, *confused = NULL;
    hu_status st;
    *text = NULL;
    evaluation_line(run, made, line);
    HU_TRY(class_facts_text(run->trainer, run->dataset, made->half, &facts));
    HU_TRY(hu_confusion_text(&made->confusion, &confused));
    size_t bytes =
        strlen(line) + (facts ? strlen(facts) : 0) + (confused ? strlen(confused) : 0) + 3;
    HU_TRY(HU_NEW_ARRAY(text, bytes));
    snprintf(*text, bytes, "%s\n%s%s%s", line, facts ? facts : "", confused ? "\n" : "",
             confused ? confused : "");
done:
    hu_free(facts);
    hu_free(confused);
    return st;
}

hu_status hu_evaluation_write(const hu_config *config, const hu_listener *listener,
                              const hu_saved_run *run, const hu_evaluation *made) {
    char line[HU_EVALUATION_LINE_BYTES], title[256];
    const char *path;
    hu_status st = HU_OK;
    bool has_classes = made->confusion.classes > 0;
    if (hu_config_asked(config, "out.file")) {
        if (!has_classes)
            return hu_fail(HU_ERR_ARGUMENT,
                           "out: found a run of the task %s, expected one "
                           "that says a class of each sample",
                           hu_trainer_task(run->trainer)->name);
        HU_TRY(hu_config_text(config, "out.file", &path));
        HU_TRY(hu_confusion_write(&made->confusion, path));
        hu_listener_tell(listener, "wrote %lld classes to %s", (long long)made->confusion.classes,
                         path);
    }
    if (hu_config_asked(config, "out.page")) {
        HU_TRY(hu_config_text(config, "out.page", &path));
        snprintf(title, sizeof title, "What %.200s takes for what", run->directory);
        HU_TRY(hu_confusion_page(&made->confusion, title, evaluation_line(run, made, line), path));
        size_t count = made->confusion.mistakes;
        hu_listener_tell(listener, "wrote %zu mistake%s to %s", count, count == 1 ? "" : "s", path);
    }
done:
    return st;
}

static const char *evaluation_line(const hu_saved_run *run, const hu_evaluation *made,
                                   char line[HU_EVALUATION_LINE_BYTES]) {
    const hu_task *task = hu_trainer_task(run->trainer);
    char words[HU_METRIC_TEXT_BYTES], value[HU_METRIC_TEXT_BYTES], loss[HU_FIXED_BYTES];
    snprintf(line, HU_EVALUATION_LINE_BYTES, "step %lld:", (long long)run->step);
    for (int m = 0; task->metric[m]; m++)
        hu_note_add(line, HU_EVALUATION_LINE_BYTES, "", " %s %s %s ", made->part,
                    hu_metric_words(task->metric[m], words),
                    hu_metric_text(task->metric[m], made->metrics[m], value));
    hu_note_add(line, HU_EVALUATION_LINE_BYTES, "", " %s loss %s  (%s weights)", made->part,
                hu_fixed_text(made->loss, 4, loss),
                run->options.eval_masters ? "master" : "rounded");
    return line;
}

json_t *hu_evaluation_json(const hu_saved_run *run, const hu_evaluation *made) {
    char key[HU_METRIC_KEY_BYTES];
    const hu_task *task = hu_trainer_task(run->trainer);
    const hu_metric *first = task->metric[0];
    json_t *object = json_pack("{s:s, s:I, s:s, s:{s:s, s:o, s:s}}", "run", run->directory, "step",
                               (json_int_t)run->step, "task", task->name, "metric", "name",
                               first->name, "value", hu_json_number(made->metrics[0]), "better",
                               first->higher_is_better ? "higher" : "lower");
    for (int m = 0; object && task->metric[m]; m++)
        json_object_set_new(object, hu_metric_key(made->part, task->metric[m], key),
                            hu_json_number(made->metrics[m]));
    if (!object) return NULL;
    snprintf(key, sizeof key, "%s_loss", made->part);
    json_object_set_new(object, key, hu_json_number(made->loss));
    if (hu_class_facts_put(object, run->trainer, run->dataset, made->half) != HU_OK ||
        hu_confusion_put(&made->confusion, made->part, object) != HU_OK) {
        json_decref(object);
        return NULL;
    }
    hu_baseline_put(&made->baseline, object);
    json_object_set_new(object, "part", json_string(made->part));
    json_object_set_new(object, "weights",
                        json_string(run->options.eval_masters ? "master" : "rounded"));
    json_object_set_new(object, "weights_hash",
                        hu_json_hash(hu_trainer_weights_hash(run->trainer)));
    return object;
}
