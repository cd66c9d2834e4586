/* halfulp train, resume, eval: one training run. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "cli/internal.h"
#include "cli/verb.h"
#include "diagnose/facts.h"
#include "diagnose/why.h"
#include "render/table.h"
#include "report/report.h"
#include "runlog/folder.h"
#include "session/evaluation.h"
#include "session/session.h"
#include "settings/dataset.h"
#include "settings/options.h"

static const char *const json_flag[] = {"json", NULL};

/* The task's first metric, the loss, the speed, and the hash by which equal weights are known. */
static void print_result(const hu_session *session, const hu_session_result *result) {
    const char *weights = "";
    char scaling[HU_SCALING_BYTES];
    char rate[HU_METRIC_TEXT_BYTES], best[HU_METRIC_TEXT_BYTES];
    char evaluation[HU_EVALUATION_TEXT_BYTES], wire[HU_WIRE_TEXT_BYTES], bits[HU_BITS_TEXT_BYTES];
    hu_config_text(session->config, "eval.weights", &weights);
    int64_t held =
        session->evaluation == HU_SPLIT_VALIDATION ? session->dataset->validation.count : 0;
    const hu_result_metric *followed = held > 0 ? &result->validation : &result->test;
    printf("%s", hu_evaluation_text(&result->test, &result->validation, held, evaluation));
    if (followed->best != followed->last && !isnan(followed->best))
        printf(", best %s", hu_metric_text(followed->metric, followed->best, best));
    printf(" (%s weights)", weights);
    /* Without a step there is neither; a run that was finished before has no speed. */
    if (!isnan(result->train_loss)) printf("  train loss %.4f", result->train_loss);
    if (!isnan(result->rate))
        printf("  %s",
               hu_listener_rate(result->images_per_second, result->rate, result->counted, rate));
    printf("  %lld steps, %lld skipped, loss scaling %s\n",
           (long long)hu_trainer_progress(session->trainer)->step,
           (long long)hu_trainer_skipped(session->trainer),
           hu_loss_scaling_words(session->config, session->trainer, scaling));
    if (result->is_early)
        printf("stopped early: the metric got no better (stop.patience), %lld steps were left\n",
               (long long)(session->steps - hu_trainer_progress(session->trainer)->step));
    if (result->collapse[0]) printf("collapsed: %s\n", result->collapse);
    if (hu_wire_result_text(session->config, session->trainer, wire)[0]) puts(wire);
    if (hu_bits_result_text(session->trainer, bits)[0]) puts(bits);
    printf("weights hash %016llx  run folder %s\n",
           (unsigned long long)hu_trainer_weights_hash(session->trainer), session->folder.path);
}

/* What died by why's analysis in a run that told nothing of its own accord: saturation, updates,
 * an evaluation. A folder that cannot be explained tells nothing. */
static bool tell_death(const char *folder) {
    hu_diagnosis x = {0};
    char name[HU_TENSOR_NAME_BYTES];
    hu_status st = hu_run_record_read(folder, "fp16", &x.run);
    if (st == HU_OK) st = hu_why_create(&x.run, &x.why);
    const hu_failure *death = &x.why.death;
    bool has_died = st == HU_OK && x.why.verdict != HU_VERDICT_FINE && death->place != HU_NONE;
    if (has_died)
        fprintf(stderr, "note: %s: %s, from step %lld on; `halfulp why %s`\n",
                hu_fact_failure_name(&x, death, name), hu_failure_kind_name(death->kind),
                (long long)death->step, folder);
    hu_why_free(&x.why);
    hu_run_record_close(&x.run);
    return has_died;
}

/* The verb to go on with: "why" of a run in which something died, too. */
static const char *find_next(const hu_session *session, const hu_session_result *result) {
    const char *next = hu_session_next(session, result);
    return strcmp(next, "predict") == 0 && tell_death(session->folder.path) ? "why" : next;
}

/* Whether the state that is kept of the best evaluation is a better one to predict with than the
 * last. */
static bool prefers_best(const hu_session *session, const hu_session_result *result,
                         const char *next) {
    bool is_test = session->evaluation == HU_SPLIT_TEST;
    const hu_result_metric *followed = is_test ? &result->test : &result->validation;
    char *path = NULL;
    if (strcmp(next, "predict") != 0 || isnan(followed->best) || followed->best == followed->last)
        return false;
    bool is_kept =
        hu_path_join(session->folder.path, "best", &path) == HU_OK && hu_file_exists(path);
    hu_free(path);
    return is_kept;
}

/* Where to look next. */
static void print_next(const hu_session *session, const hu_session_result *result,
                       bool has_report) {
    const char *folder = session->folder.path, *next = find_next(session, result);
    if (has_report) printf("report: %s/report.html\n", folder);
    printf("next: halfulp %s %s%s\n", next, folder,
           prefers_best(session, result, next) ? " checkpoint=best" : "");
}

/* A training that diverged has a result, and still ends with exit code 4. */
static hu_status report(const hu_session *session, const hu_session_result *result, bool as_json,
                        bool has_report) {
    hu_status st = HU_OK;
    if (as_json)
        st = hu_json_print(hu_session_json(session, result));
    else if (!result->has_diverged)
        print_result(session, result);
    if (!as_json) print_next(session, result, has_report);
    if (st == HU_OK && result->has_diverged) st = hu_fail(HU_ERR_NONFINITE, "%s", result->reason);
    return st;
}

/* The end of the process that leads: result, page and words. The others have nothing to say. */
static hu_status finish(const hu_session *session, const hu_session_result *result, bool as_json) {
    hu_status st = HU_OK;
    if (!session->leads)
        return result->has_diverged ? hu_fail(HU_ERR_NONFINITE, "%s", result->reason) : HU_OK;
    /* The result is on the disk before the page is drawn: a page that fails costs nothing. */
    HU_TRY(hu_session_write_result(session, result));
    hu_report_tried page = hu_report_try(session->folder.path);
    HU_TRY(report(session, result, as_json, page.status == HU_OK));
    st = hu_report_end(&page, session->folder.path);
done:
    return st;
}

/* A run that is made or gone on with. */
typedef struct opened {
    const char *directory; /* NULL: a new one */
    bool resume;
    hu_listener heard;
    hu_dataset *dataset;
    hu_session session;
} opened;

/* Data, trainer and folder. What fails in one process fails in all, which meet here. */
static hu_status open_all(hu_config *config, opened *o, hu_processes *processes) {
    hu_status st = HU_OK;
    const hu_listener *listener = hu_processes_lead(processes) ? &o->heard : NULL;
    HU_TRY(hu_progress_listener(config, &o->heard));
    /* What would fail when all is read fails now. */
    if (o->resume && hu_processes_lead(processes))
        HU_TRY(hu_run_folder_check_writable(o->directory));
    HU_TRY(o->resume ? hu_saved_run_data(config, o->directory, listener, &o->dataset)
                     : hu_session_dataset(config, listener, &o->dataset));
    HU_TRY(hu_session_open(config, o->dataset, NULL, o->directory, o->resume, listener, processes,
                           &o->session));
done:
    return hu_processes_agree(processes, st);
}

/* train and resume: open, run, write the result, draw the page. */
static hu_status run_session(hu_config *config, const char *directory, bool resume) {
    hu_status st = HU_OK;
    opened o = {.directory = directory, .resume = resume};
    hu_session *session = &o.session;
    hu_session_result result;
    hu_processes processes = {0};
    const volatile sig_atomic_t *flag;
    HU_TRY(hu_interrupt_install(&flag));
    HU_TRY(hu_join_peers(config, flag, &processes));
    HU_TRY(open_all(config, &o, &processes));
    HU_TRY(hu_processes_compare(&processes, config, session->trainer, session->data.fingerprint));
    session->interrupted = flag;
    st = hu_session_run(session, &result);
    /* Both are found in all processes in the same step. */
    processes.is_agreed |= st == HU_ERR_INTERRUPTED || (st == HU_OK && result.has_diverged);
    /* The open line of progress ends before anything else is printed, failures too. */
    hu_progress_end();
    HU_TRY(st);
    HU_TRY(finish(session, &result, hu_config_flag(config, "json", NULL)));
done:
    hu_session_close(session);
    hu_leave_peers(&processes, st);
    hu_dataset_close(o.dataset);
    return st;
}

/* run.dir, NULL for "auto". */
static hu_status chosen_directory(const hu_config *config, const char **directory) {
    hu_status st = hu_config_text(config, "run.dir", directory);
    if (st != HU_OK) return st;
    if (!**directory) return hu_fail(HU_ERR_ARGUMENT, "run.dir: found '', expected a folder");
    if (strcmp(*directory, "auto") == 0) *directory = NULL;
    return st;
}

/* A folder that holds a run already is refused when the session opens. */
static hu_status run_train(hu_config *config, int *exit_code) {
    const char *directory;
    (void)exit_code;
    hu_status st = chosen_directory(config, &directory);
    return st == HU_OK ? run_session(config, directory, false) : st;
}

/* The run's own configuration, with what the command gives beside it. */
static hu_status run_resume(hu_config *config, int *exit_code) {
    const char *directory = hu_config_subject(config, 0);
    (void)exit_code;
    if (hu_config_given(config, "eval.part"))
        return hu_fail(HU_ERR_ARGUMENT, "resume: found eval.part, expected it at the beginning: a "
                                        "run keeps the samples that it is followed on");
    if (hu_config_given(config, "eval.checkpoint"))
        return hu_fail(HU_ERR_ARGUMENT, "resume: found eval.checkpoint, which it does not read: a "
                                        "run goes on from its newest checkpoint");
    hu_status st = hu_saved_run_merge(config, directory);
    return st == HU_OK ? run_session(config, directory, true) : st;
}

/* All metrics of the task and the loss over one part of the data, which is read once. */
static hu_status run_eval(hu_config *config, int *exit_code) {
    hu_status st;
    hu_saved_run run = {0};
    hu_evaluation made = {.part = ""};
    char *text = NULL;
    (void)exit_code;
    HU_TRY(hu_saved_run_open(config, hu_config_subject(config, 0), &hu_progress_messages, &run));
    HU_TRY(hu_evaluation_run(config, &hu_progress_messages, &run, &made));
    HU_TRY(hu_evaluation_write(config, &hu_progress_messages, &run, &made));
    if (hu_config_flag(config, "json", NULL)) {
        st = hu_json_print(hu_evaluation_json(&run, &made));
    } else {
        HU_TRY(hu_evaluation_print(&run, &made, &text));
        printf("%s", text);
    }
done:
    hu_free(text);
    hu_evaluation_free(&made);
    hu_saved_run_close(&run);
    return st;
}

static const char *const train_keys[] = {HU_TRAINING_KEYS, NULL};

const hu_verb hu_verb_train = {
    .name = "train",
    .group = HU_VERBS_TRAIN,
    .help = "train a model in a chosen precision",
    .usage = "[key=value ...] [--json]",
    .details = "Without keys: cnn-s on fashion-mnist in fp32, the recipe of the demo.\n"
               "The run's folder holds metrics, checkpoints and the resolved configuration.\n"
               "init=FILE starts from the weights of a safetensors file, see export.\n",
    .flags = json_flag,
    .max_subjects = 0,
    .joins_others = true,
    .keys = train_keys,
    .examples = {{"train data=glyphs epochs=1", "a small network on drawn digits, in float32"},
                 {"train model=resnet20 data=cifar10:DIR precision=hfp8",
                  "8-bit training with its recipe"},
                 {"train data=glyphs precision=e4m3:bias=9 scaler=dynamic run.dir=own",
                  "a format of your own"}},
    .run = run_train,
};

static const char *const resume_keys[] = {HU_TRAINING_KEYS, NULL};

const hu_verb hu_verb_resume = {
    .name = "resume",
    .group = HU_VERBS_TRAIN,
    .help = "go on with an interrupted run, to the same bits",
    .usage = "RUN [key=value ...] [--json]",
    .details =
        "RUN is the folder of a run; its newest sound checkpoint is taken. Keys given now win\n"
        "over the run's and are noted in its folder: steps=N or epochs=N to train on, threads,\n"
        "storage. The model and its shapes, task, loss, optimizer, seed and the weights of init=\n"
        "cannot change.\n",
    .flags = json_flag,
    .min_subjects = 1,
    .max_subjects = 1,
    .joins_others = true,
    .keys = resume_keys,
    .examples = {{"resume RUN", "go on where it was stopped"},
                 {"resume RUN epochs=2", "train a finished run on"}},
    .run = run_resume,
};

static const char *const eval_keys[] = {HU_TRAINING_KEYS, "eval.checkpoint", "out.file", "out.page",
                                        NULL};

const hu_verb hu_verb_eval = {
    .name = "eval",
    .group = HU_VERBS_USE,
    .help = "metrics of a run's newest checkpoint on the test samples, or those held out",
    .usage = "RUN [part=validation|test] [checkpoint=best] [out=FILE.csv] [page=FILE.html] "
             "[key=value ...] [--json]",
    .details =
        "part=validation: the samples that data.validation held out of the training.\n"
        "checkpoint=best: that of the best evaluation of its training (RUN/best/).\n"
        "eval.weights=master|rounded chooses the weights; the default is the scheme's.\n"
        "data=... names another data set of the same shapes.\n"
        "Means over classes are told of each; a dash: no sample has the class.\n"
        "Where one class is said of each sample: recall, precision and F1 of each class, and\n"
        "which is taken for which. out=FILE.csv gets all of it, page=FILE.html, without\n"
        "scripts, the 40 most confident mistakes as pictures beside it.\n",
    .flags = json_flag,
    .min_subjects = 1,
    .max_subjects = 1,
    .keys = eval_keys,
    .examples = {{"eval RUN", "metrics on the test samples"},
                 {"eval RUN page=wrong.html", "which classes are taken for which, with mistakes"},
                 {"eval RUN eval.weights=rounded --json",
                  "with the weights as products see them, for programs"}},
    .run = run_eval,
};
