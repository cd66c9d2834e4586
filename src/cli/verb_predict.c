/* halfulp predict: class and probability of test samples. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "cli/progress.h"
#include "cli/verb.h"
#include "config/used.h"
#include "session/saved_run.h"
#include "show/json.h"
#include "show/stdout.h"
#include "show/table.h"

enum { USUAL_COUNT = 10 };

static const char *const flags[] = {"json", NULL};
static const char *const used[] = {"out.file",    "out.count",   "data.*", "eval.weights",
                                   "run.threads", "run.storage", NULL};

/* Predictions of the first samples. */
typedef struct answers {
    int64_t count, correct;
    hu_prediction *rows; /* [count] */
    const char *file;    /* where they go, NULL: to stdout */
} answers;

/* out.count; auto: 10 to stdout, all into a file; 0 and more than there are: all. */
static hu_status choose_count(hu_config *config, const hu_dataset *dataset, answers *made) {
    const char *file;
    char usual[32];
    hu_status st;
    HU_TRY(hu_config_text(config, "out.file", &file));
    if (!file[0]) HU_TRY(hu_fail(HU_ERR_ARGUMENT, "out.file: found '', expected a file"));
    made->file = strcmp(file, "auto") == 0 ? NULL : file;
    snprintf(usual, sizeof usual, "%d", made->file ? 0 : USUAL_COUNT);
    HU_TRY(hu_config_set(config, "out.count", usual, "default"));
    HU_TRY(hu_config_i64(config, "out.count", &made->count));
    if (made->count == 0 || made->count > dataset->test.count) made->count = dataset->test.count;
done:
    return st;
}

static hu_status predict(const hu_saved_run *run, answers *made) {
    void *block;
    hu_status st = hu_alloc_array((size_t)made->count, sizeof *made->rows, &block);
    if (st != HU_OK) return st;
    made->rows = block;
    HU_TRY(hu_trainer_predict(run->trainer, made->count, made->rows));
    for (int64_t i = 0; i < made->count; i++)
        made->correct += made->rows[i].predicted == made->rows[i].label;
done:
    return st;
}

static hu_status print_table(const answers *made) {
    static const char *const titles[] = {"sample", "label", "predicted", "probability", ""};
    hu_status st;
    hu_table *table = NULL;
    char *text = NULL;
    HU_TRY(hu_table_create(titles, 5, &table));
    for (int64_t i = 0; i < made->count; i++) {
        const hu_prediction *row = &made->rows[i];
        HU_TRY(hu_table_cell(table, "%lld", (long long)i));
        HU_TRY(hu_table_cell(table, "%lld", (long long)row->label));
        HU_TRY(row->predicted < 0 ? hu_table_cell(table, "-")
                                  : hu_table_cell(table, "%lld", (long long)row->predicted));
        HU_TRY(row->predicted < 0 ? hu_table_cell(table, "-")
                                  : hu_table_cell(table, "%.4f", row->probability));
        HU_TRY(hu_table_cell(table, "%s", row->predicted == row->label ? "" : "wrong"));
    }
    HU_TRY(hu_table_print(table, &text));
    printf("%s\n", text);
done:
    hu_free(text);
    hu_table_free(table);
    return st;
}

static hu_status write_rows(const answers *made) {
    static const char titles[] = "sample,label,predicted,probability\n";
    hu_byte_writer out = {0};
    char line[128];
    hu_status st;
    HU_TRY(hu_write_bytes(&out, titles, sizeof titles - 1));
    for (int64_t i = 0; i < made->count; i++) {
        const hu_prediction *row = &made->rows[i];
        int bytes = snprintf(line, sizeof line, "%lld,%lld,%lld,%.9g\n", (long long)i,
                             (long long)row->label, (long long)row->predicted, row->probability);
        HU_TRY(hu_write_bytes(&out, line, (size_t)bytes));
    }
    HU_TRY(hu_file_replace(made->file, out.data, out.size));
done:
    hu_writer_free(&out);
    return st;
}

static json_t *rows_json(const answers *made) {
    json_t *rows = json_array();
    for (int64_t i = 0; rows && i < made->count; i++) {
        const hu_prediction *row = &made->rows[i];
        json_array_append_new(rows, json_pack("{s:I, s:I, s:I, s:o}", "sample", (json_int_t)i,
                                              "label", (json_int_t)row->label, "predicted",
                                              (json_int_t)row->predicted, "probability",
                                              hu_json_number(row->probability)));
    }
    return rows;
}

static hu_status report(const hu_config *config, const hu_saved_run *run, const answers *made) {
    hu_status st = HU_OK;
    const char *data = "", *weights = run->options.eval_masters ? "master" : "rounded";
    double accuracy = (double)made->correct / (double)made->count;
    hu_config_text(config, "data.name", &data);
    if (made->file) HU_TRY(write_rows(made));
    if (hu_config_flag(config, "json", NULL)) {
        json_t *object = json_pack("{s:s, s:I, s:s, s:s, s:I, s:I, s:o}", "run", run->directory,
                                   "step", (json_int_t)run->step, "data", data, "weights", weights,
                                   "samples", (json_int_t)made->count, "correct",
                                   (json_int_t)made->correct, "accuracy", hu_json_number(accuracy));
        if (object && made->file)
            json_object_set_new(object, "file", json_string(made->file));
        else if (object)
            json_object_set_new(object, "predictions", rows_json(made));
        return hu_json_print(object);
    }
    if (!made->file) HU_TRY(print_table(made));
    printf("step %lld: %lld of %lld test samples of %s correct, accuracy %.2f %%  (%s weights)\n",
           (long long)run->step, (long long)made->correct, (long long)made->count, data,
           100.0 * accuracy, weights);
done:
    return st;
}

static hu_status run_predict(hu_config *config, int *exit_code) {
    hu_status st;
    hu_saved_run run = {0};
    answers made = {0};
    (void)exit_code;
    HU_TRY(hu_keys_used(config, "predict", used));
    HU_TRY(hu_saved_run_open(config, hu_config_subject(config, 0), &hu_progress_messages, &run));
    HU_TRY(choose_count(config, run.dataset, &made));
    HU_TRY(predict(&run, &made));
    HU_TRY(report(config, &run, &made));
done:
    hu_free(made.rows);
    hu_saved_run_close(&run);
    return st;
}

const hu_verb hu_verb_predict = {
    .name = "predict",
    .help = "class and probability of test samples, by a run's newest checkpoint",
    .usage = "RUN [count=N] [out=FILE.csv] [data=...] [--json]",
    .details =
        "Takes the first N samples (10; 0: all) of the run's test set, or of another data set of\n"
        "the same image size and classes, whose pixels are then normalised by its own mean and\n"
        "deviation. out=FILE.csv: the rows go there, all of them unless count says otherwise.\n"
        "eval.weights=master|rounded chooses the weights, as for eval.\n",
    .flags = flags,
    .min_subjects = 1,
    .max_subjects = 1,
    .run = run_predict,
};
