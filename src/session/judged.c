#include "session/judged.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "session/class_facts.h"
#include "show/fixed.h"

static const char *const part_names[] = {
    [HU_HALF_TRAIN] = "training", [HU_HALF_TEST] = "test", [HU_HALF_VALIDATION] = "validation"};

hu_status hu_judged_read(const hu_config *config, const hu_dataset *dataset, hu_half *judged,
                         bool *ends_with_test) {
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
    *judged = is_held ? HU_HALF_VALIDATION : HU_HALF_TEST;
    *ends_with_test = is_held && strcmp(part, "auto") == 0;
    return HU_OK;
}

const char *hu_judged_text(const hu_result_metric *test, const hu_result_metric *validation,
                           int64_t held, char text[HU_JUDGED_TEXT_BYTES]) {
    char words[HU_METRIC_TEXT_BYTES], value[HU_METRIC_TEXT_BYTES];
    int used = 0;
    hu_metric_words(test->metric, words);
    if (held > 0)
        used = snprintf(text, HU_JUDGED_TEXT_BYTES, "validation %s %s of %lld held out", words,
                        hu_metric_text(test->metric, validation->last, value), (long long)held);
    if (held == 0 || !isnan(test->last))
        snprintf(text + used, HU_JUDGED_TEXT_BYTES - (size_t)used, "%stest %s %s",
                 held > 0 ? ", " : "", words, hu_metric_text(test->metric, test->last, value));
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

hu_status hu_judged_run(const hu_config *config, const hu_listener *listener, hu_saved_run *run,
                        hu_judged *made) {
    const char *asked = "auto";
    hu_status st = check_endings(config);
    if (st != HU_OK) return st;
    /* A part that the folder's own configuration names is that of its training. */
    if (hu_config_asked(config, "eval.part")) st = hu_config_text(config, "eval.part", &asked);
    hu_half half = strcmp(asked, "validation") == 0 ? HU_HALF_VALIDATION : HU_HALF_TEST;
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

void hu_judged_free(hu_judged *made) {
    hu_confusion_free(&made->confusion);
}

hu_status hu_judged_print(const hu_saved_run *run, const hu_judged *made, char **text) {
    char line[HU_JUDGED_LINE_BYTES], *facts = NULL, *confused = NULL;
    hu_status st;
    *text = NULL;
    hu_judged_line(run, made, line);
    HU_TRY(hu_class_facts_text(run->trainer, run->dataset, made->half, &facts));
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

hu_status hu_judged_write(const hu_config *config, const hu_listener *listener,
                          const hu_saved_run *run, const hu_judged *made) {
    char line[HU_JUDGED_LINE_BYTES], title[256];
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
        HU_TRY(hu_confusion_page(&made->confusion, title, hu_judged_line(run, made, line), path));
        size_t count = made->confusion.mistakes;
        hu_listener_tell(listener, "wrote %zu mistake%s to %s", count, count == 1 ? "" : "s", path);
    }
done:
    return st;
}

const char *hu_judged_line(const hu_saved_run *run, const hu_judged *made,
                           char line[HU_JUDGED_LINE_BYTES]) {
    const hu_task *task = hu_trainer_task(run->trainer);
    char words[HU_METRIC_TEXT_BYTES], value[HU_METRIC_TEXT_BYTES], loss[HU_FIXED_BYTES];
    const size_t most = HU_JUDGED_LINE_BYTES;
    size_t used = (size_t)snprintf(line, most, "step %lld:", (long long)run->step);
    for (int m = 0; task->metric[m] && used < most; m++)
        used += (size_t)snprintf(line + used, most - used, " %s %s %s ", made->part,
                                 hu_metric_words(task->metric[m], words),
                                 hu_metric_text(task->metric[m], made->metrics[m], value));
    if (used < most)
        snprintf(line + used, most - used, " %s loss %s  (%s weights)", made->part,
                 hu_fixed_text(made->loss, 4, loss),
                 run->options.eval_masters ? "master" : "rounded");
    return line;
}

json_t *hu_judged_json(const hu_saved_run *run, const hu_judged *made) {
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
