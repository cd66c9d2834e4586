#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/text_file.h"
#include "cli/internal.h"
#include "cli/verb.h"
#include "config/config.h"
#include "config/unused_keys.h"
#include "data/directory.h"
#include "predict/predictions.h"
#include "predict/sample_images.h"
#include "render/json.h"
#include "render/table.h"
#include "session/completions.h"
#include "session/saved_run.h"
#include "task/task.h"

/* ---- `predict RUN text=...`: how a language model goes on with a text ---- */

/* Owner frees *text with hu_free, also on failure. */
static hu_status read_stdin(char **text, size_t *bytes) {
    size_t capacity = 0, got;
    hu_status st = HU_OK;
    do {
        HU_TRY(hu_grow(text, *bytes + 1, &capacity, 1));
        got = fread(*text + *bytes, 1, capacity - *bytes - 1, stdin);
        *bytes += got;
    } while (got > 0);
    (*text)[*bytes] = '\0';
    if (ferror(stdin)) st = hu_fail(HU_ERR_IO, "standard input cannot be read");
done:
    return st;
}

/* "-": standard input; "@FILE": a file; else the text itself. where [bytes of a path]: of it. */
static hu_status read_text(const char *given, char where[4096], char **text, size_t *bytes) {
    bool is_file = given[0] == '@', is_input = strcmp(given, "-") == 0;
    uint8_t *data = NULL;
    hu_status st;
    snprintf(where, 4096, "%s", is_file ? given + 1 : is_input ? "standard input" : "predict.text");
    if (is_input) return read_stdin(text, bytes);
    *bytes = strlen(given);
    if (is_file) HU_TRY(hu_file_read(given + 1, SIZE_MAX / 4, &data, bytes));
    size_t mark = is_file ? hu_text_mark_bytes((const char *)data, *bytes) : 0;
    *bytes -= mark;
    st = hu_strndup(is_file ? (const char *)data + mark : given, *bytes, text);
done:
    hu_free(data);
    return st;
}

/* Prints what the run that is the first subject puts after predict.text (session/evaluation.h).
 * HU_ERR_MISSING, HU_ERR_IO: of the file of the text, or of standard input. */
static hu_status predict_text(hu_config *config) {
    hu_status st;
    char where[4096], *text = NULL, *told = NULL;
    const char *given, *directory = hu_config_subject(config, 0);
    size_t bytes = 0;
    hu_completions made = {0};
    HU_TRY(hu_config_text(config, "predict.text", &given));
    HU_TRY(read_text(given, where, &text, &bytes));
    HU_TRY(
        hu_completions_make(config, directory, &hu_progress_messages, where, text, bytes, &made));
    if (hu_config_flag(config, "json", NULL)) {
        st = hu_json_print(hu_completions_json(&made));
    } else {
        HU_TRY(hu_completions_text(&made, &told));
        puts(told);
    }
done:
    hu_completions_free(&made);
    hu_free(text);
    hu_free(told);
    return st;
}

/* ---- Halfulp predict: what a trained model says of test samples ---- */

/* Rows that a terminal shows without being asked for more; files of one call. */
enum { USUAL_COUNT = 10, MOST_FILES = 1 << 20 };

static const char *const flags[] = {"json", NULL};
static const char *const used[] = {
    "out.file",        "out.count",   "out.pictures", "data.*",    "eval.weights",
    "eval.checkpoint", "run.threads", "run.storage",  "predict.*", NULL};

/* What the model says of the first samples. */
typedef struct answers {
    int64_t count;
    hu_predictions predictions;
    const char *file;     /* where it goes, NULL: to stdout */
    int form;             /* of the file: 0 CSV, 1 JSON */
    const char *pictures; /* a sheet of the samples, "": none */
} answers;

/* out.count; auto: 10 to stdout, all into a file; 0 and more than there are: all. */
static hu_status choose_count(hu_config *config, const hu_dataset *dataset, answers *made) {
    const char *file;
    char usual[32];
    hu_status st;
    bool has_files = hu_config_subjects(config) > 1;
    HU_TRY(hu_config_text(config, "out.file", &file));
    if (!file[0]) HU_TRY(hu_fail(HU_ERR_ARGUMENT, "out: found '', expected a file"));
    made->file = strcmp(file, "auto") == 0 ? NULL : file;
    if (made->file) {
        static const char *const endings[] = {"csv", "json", NULL};
        HU_TRY(hu_ending_find(file, endings, &made->form));
    }
    snprintf(usual, sizeof usual, "%d", made->file || has_files ? 0 : USUAL_COUNT);
    HU_TRY(hu_config_set(config, "out.count", usual, "default"));
    HU_TRY(hu_config_i64(config, "out.count", &made->count));
    if (made->count == 0 || made->count > dataset->test.count) made->count = dataset->test.count;
done:
    return st;
}

/* predict.top; auto: five classes of files that are named, else one. */
static hu_status choose_top(hu_config *config, hu_predictions *predictions) {
    hu_status st =
        hu_config_set(config, "predict.top", hu_config_subjects(config) > 1 ? "5" : "1", "default");
    return st == HU_OK ? hu_config_i64(config, "predict.top", &predictions->top) : st;
}

/* Samples of a verdict; for tasks that know right and wrong. */
static int64_t count_judged_as(const answers *made, hu_judgement judgement) {
    int64_t count = 0;
    for (int64_t i = 0; i < made->count; i++)
        count += hu_predictions_judgement(&made->predictions, i) == judgement;
    return count;
}

/* Those that are labelled, as the metric counts them. */
static int64_t count_judged(const answers *made) {
    return made->count - count_judged_as(made, HU_UNJUDGED);
}

/* The rows themselves, or the file that they went to; "correct" and "accuracy" where the task knows
 * right and wrong. */
static json_t *answers_json(const hu_saved_run *run, const answers *made, const char *data,
                            const char *weights) {
    json_t *object = json_pack("{s:s, s:I, s:s, s:s, s:s, s:I}", "run", run->directory, "step",
                               (json_int_t)run->step, "task", made->predictions.task->name, "data",
                               data, "weights", weights, "samples", (json_int_t)made->count);
    if (object && made->predictions.task->judge) {
        int64_t right = count_judged_as(made, HU_RIGHT), evaluation = count_judged(made);
        json_object_set_new(object, "correct", json_integer((json_int_t)right));
        json_object_set_new(object, "labelled", json_integer((json_int_t)evaluation));
        json_object_set_new(object, "accuracy", hu_json_number((double)right / (double)evaluation));
    }
    if (object && run->files.count > 0)
        json_object_set_new(object, "left_out", json_integer((json_int_t)run->files.left_out));
    if (object && made->pictures[0])
        json_object_set_new(object, "pictures", json_string(made->pictures));
    return object;
}

/* The object with what the model says, as stdout and files have it. */
static json_t *whole_json(const hu_saved_run *run, const answers *made, const char *data,
                          const char *weights) {
    json_t *object = answers_json(run, made, data, weights);
    if (object) json_object_set_new(object, "predictions", hu_predictions_json(&made->predictions));
    return object;
}

static hu_status write_json(const hu_saved_run *run, const answers *made, const char *data,
                            const char *weights) {
    char *text = NULL;
    hu_status st = hu_json_pretty(whole_json(run, made, data, weights), &text);
    if (st == HU_OK) st = hu_file_replace(made->file, text, strlen(text));
    hu_free(text);
    return st;
}

/* The object that tells of a file instead. */
static json_t *report_json(const hu_saved_run *run, const answers *made, const char *data,
                           const char *weights) {
    json_t *object = answers_json(run, made, data, weights);
    if (object) json_object_set_new(object, "file", json_string(made->file));
    return object;
}

/* What stands in the column "text" of next tokens, which is no text that the model wrote. */
static void tell_texts(const hu_predictions *predictions) {
    if (predictions->task == &hu_task_language)
        puts("text: for each place the likeliest next token, told the true ones before it; "
             "text=\"...\" lets the model go on by itself");
}

/* The file first: what is printed afterwards may then speak of it. */
static hu_status report(const hu_config *config, const hu_saved_run *run, const answers *made) {
    hu_status st = HU_OK;
    const char *data = "", *weights = run->options.eval_masters ? "master" : "rounded";
    hu_config_text(config, "data.name", &data);
    if (run->files.count > 0) data = "files";
    int64_t rows;
    char *text = NULL;
    if (made->file) {
        rows = made->count;
        HU_TRY(made->form == 1 ? write_json(run, made, data, weights)
                               : hu_predictions_write(&made->predictions, made->file, &rows));
        fprintf(stderr, "wrote %lld rows to %s\n", (long long)rows, made->file);
    }
    if (hu_config_flag(config, "json", NULL))
        return hu_json_print(made->file ? report_json(run, made, data, weights)
                                        : whole_json(run, made, data, weights));
    if (!made->file) {
        HU_TRY(hu_predictions_text(&made->predictions, &text));
        printf("%s\n", text);
        hu_free(text);
    }
    int64_t right = count_judged_as(made, HU_RIGHT), evaluation = count_judged(made);
    if (evaluation == 0) {
        printf("step %lld: %lld test sample%s of %s, task %s  (%s weights)\n", (long long)run->step,
               (long long)made->count, made->count == 1 ? "" : "s", data,
               made->predictions.task->name, weights);
        if (!made->file) tell_texts(&made->predictions);
        return HU_OK;
    }
    printf("step %lld: %lld of %lld%s test samples of %s correct, accuracy %.2f %%  (%s weights)\n",
           (long long)run->step, (long long)right, (long long)evaluation,
           evaluation < made->count ? " labelled" : "", data,
           100.0 * (double)right / (double)evaluation, weights);
done:
    return st;
}

/* Samples of other data do not take the place of the run's own. */
static void write_answers(const hu_config *config, const hu_saved_run *run, int64_t count) {
    int64_t sheets;
    char folder[HU_ANSWERS_FOLDER_BYTES];
    const char *data = NULL;
    if (run->has_other_data) hu_config_text(config, "data.name", &data);
    if (hu_sample_images_write(run->trainer, run->dataset, run->directory,
                               hu_sample_images_folder(data, folder), count, &sheets) != HU_OK)
        fprintf(stderr, "note: no pictures of test samples: %s\n", hu_last_error());
    else if (sheets > 0)
        fprintf(stderr, "wrote %lld pictures to %s/%s\n", (long long)sheets, run->directory,
                folder);
}

static void tell_left_out(const char *why) {
    fprintf(stderr, "left out: %s\n", why);
}

/* Whether a word names a file rather than a run: one lies there, or it ends like one. */
static bool looks_like_file(const char *word) {
    enum { LONGEST = 5 };
    const char *ending = strrchr(word, '.');
    if (hu_file_exists(word)) return !hu_is_folder(word);
    if (!ending || ending == word || !isalpha((unsigned char)ending[1])) return false;
    size_t letters = strcspn(ending + 1, "/");
    return ending[1 + letters] == '\0' && letters <= LONGEST;
}

/* "predict A.jpg": the run is missing, not the file. */
static hu_status advise(hu_status st, const char *word) {
    char name[256];
    if (st != HU_ERR_MISSING || !looks_like_file(word)) return st;
    if (!hu_quote_shell(word, name, sizeof name)) snprintf(name, sizeof name, "FILE");
    return hu_fail(st, "%s; a run comes before its files: halfulp predict RUN %s", hu_last_error(),
                   name);
}

/* The run is opened first: a count ends at the number of its test samples. */
static hu_status run_predict(hu_config *config, int *exit_code) {
    hu_status st;
    hu_saved_run run = {.allows_unlabelled = true};
    answers made = {0};
    HU_TRY(hu_keys_used(config, "predict", used));
    if (hu_config_given(config, "predict.text")) return predict_text(config);
    HU_TRY(hu_given_files_read(config, 1, tell_left_out, &run.files));
    HU_TRY(hu_given_files_leave_out(&run.files, tell_left_out));
    if (run.files.left_out > 0)
        fprintf(stderr, "left out: %zu in all, %zu are read\n", run.files.left_out,
                run.files.count);
    const char *directory = hu_config_subject(config, 0);
    HU_TRY(advise(hu_saved_run_open(config, directory, &hu_progress_messages, &run), directory));
    HU_TRY(choose_count(config, run.dataset, &made));
    /* One that the training was given, which read it not, is none of predict's. */
    made.pictures = "";
    if (hu_config_asked(config, "out.pictures"))
        HU_TRY(hu_config_text(config, "out.pictures", &made.pictures));
    HU_TRY(hu_predictions_make(run.trainer, run.dataset, made.count, &made.predictions));
    HU_TRY(choose_top(config, &made.predictions));
    if (made.pictures[0])
        HU_TRY(hu_session_pictures_at(run.trainer, HU_SPLIT_TEST, made.count, made.pictures));
    write_answers(config, &run, made.count);
    HU_TRY(report(config, &run, &made));
    if (run.files.unread > 0) *exit_code = hu_status_exit_code(HU_ERR_CORRUPT);
done:
    hu_predictions_free(&made.predictions);
    hu_saved_run_close(&run);
    return st;
}

const hu_verb hu_verb_predict = {
    .name = "predict",
    .group = HU_VERBS_USE,
    .help = "what a run's newest checkpoint says of test samples",
    .usage = "RUN [FILE|FOLDER ...] [top=N] [text=TEXT] [count=N] [out=FILE.csv|.json] "
             "[pictures=FILE.png] "
             "[data=...] [--json]",
    .details =
        "Takes the first N samples (10; 0: all) of the run's test set, or of another data set, of\n"
        "which a test half is enough; its classes are found by their names. out=FILE.csv: the "
        "rows\n"
        "go there, all of them unless count says otherwise; of detection a row for each box that\n"
        "is likelier than not, in pixels of its file.\n"
        "pictures=FILE.png: of tasks of pictures, the samples as they are (of detection: with "
        "their boxes),\nand below as the model makes them (with those that it finds).\n"
        "Of label maps and enlarged pictures, RUN/answers gets up to 10: input, truth, "
        "prediction,\nin place of those that are there; RUN/answers-NAME where data= is not the "
        "run's own,\nNAME being the last part of its path. Beside label maps stand their numbers "
        "as "
        "grey PNGs.\n"
        "text=TEXT: how a run of text:FILE goes on with a text, @FILE: that of a file, -: of "
        "standard\n"
        "input: the likeliest tokens, and tokens that are drawn (predict.temperature, "
        "predict.seed).\n"
        "FILE|FOLDER ...: what is to be seen in these pictures, by a run of folder:DIR, "
        "boxes:DIR,\n"
        "cifar10, cifar100 or glyphs, or said in these sounds, by a run of speech:DIR\n"
        "(or of sounds:DIR); of a folder\n"
        "its pictures, or else its sounds. Of several files, those that cannot be read are named "
        "and\nleft out, and the exit code is 3; of a folder, all that is no picture is named.\n"
        "top=N: so many likeliest classes of each (5). Of texts and sounds \"text\" is what the "
        "model\n"
        "says, \"truth\" what stands in the data, where somebody says so.\n"
        "eval.weights=master|rounded chooses the weights, checkpoint=best those of the best "
        "evaluation,\nas for eval.\n",
    .flags = flags,
    .min_subjects = 1,
    .max_subjects = 1 + MOST_FILES,
    .keys = used,
    .refuses_others = true,
    .examples = {{"predict RUN count=5", "what it says of the first five test samples"},
                 {"predict RUN out=FILE.csv", "of all of them, as a table"},
                 {"predict RUN A.png FOLDER", "what is to be seen in pictures of your own"}},
    .run = run_predict,
};
