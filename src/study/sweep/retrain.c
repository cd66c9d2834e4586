#include "sweep/retrain.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "diagnose/why.h"
#include "render/table.h"
#include "runlog/folder.h"
#include "runlog/result.h"

extern char **environ;

enum { PATH_BYTES = 2048, PROGRAM_WORDS = 9, WORD_BYTES = 64 };

/* What is known of one of the two runs. */
typedef struct outcome {
    char folder[PATH_BYTES];
    json_t *result; /* owned */
    hu_result_metric metric;
    double loss;
    size_t deaths;
    hu_trouble trouble; /* that did not kill */
    const char *verdict;
    bool is_lost; /* collapsed: came to its end, and ended at guessing level */
    bool is_hurt; /* numbers died */
} outcome;

/* ---- before ---- */

/* Nobody trains into it now. */
static hu_status check_idle(const char *folder) {
    int lock = -1;
    hu_status st = hu_run_folder_lock(folder, "training", &lock);
    if (lock >= 0) close(lock);
    return st;
}

/* What was not trained to its end, or not at all, has nothing to be compared with. */
static hu_status check_run(const hu_diagnosis *x, json_t **result) {
    hu_status st = HU_OK;
    HU_TRY(check_idle(x->run.folder));
    HU_TRY(hu_result_read(x->run.folder, result));
    if (!*result)
        return hu_fail(HU_ERR_ARGUMENT,
                       "try=: found no result.json in %s, expected a run that has ended: `halfulp "
                       "resume %s` goes on with it",
                       x->run.folder, x->run.folder);
    if (hu_fact_last_step(x) < 0)
        return hu_fail(HU_ERR_ARGUMENT, "try=: found no steps in %s, expected a run that trained",
                       x->run.folder);
done:
    return st;
}

static hu_status check_option(const hu_diagnosis *x, const hu_remedy *repair, int64_t number) {
    char text[HU_REASON_BYTES];
    const char *reason = hu_remedy_reason(x, repair, text);
    if (number <= repair->count) return HU_OK;
    if (repair->count == 0)
        return hu_fail(HU_ERR_ARGUMENT, "try=%lld: there is nothing to try. %s", (long long)number,
                       reason ? reason : "The recorded numbers show no loss.");
    return hu_fail(HU_ERR_ARGUMENT, "try=%lld: found %d options, expected at most that",
                   (long long)number, repair->count);
}

/* "runs/a" -> "runs/a-try1" */
static hu_status name_folder(const char *run, const hu_try_request *request,
                             char folder[PATH_BYTES]) {
    size_t length = strlen(request->folder ? request->folder : run);
    if (length + 16 >= PATH_BYTES)
        return hu_fail(HU_ERR_LIMIT, "try=: the path of the folder has %zu characters", length);
    while (!request->folder && length > 1 && run[length - 1] == '/') length--;
    if (request->folder)
        snprintf(folder, PATH_BYTES, "%s", request->folder);
    else
        snprintf(folder, PATH_BYTES, "%.*s-try%lld", (int)length, run, (long long)request->number);
    if (hu_file_exists(folder))
        return hu_fail(HU_ERR_ARGUMENT,
                       "try=: %s is there already: remove it, or read it with `halfulp why %s`",
                       folder, folder);
    return HU_OK;
}

/* ---- the training ---- */

static bool sets(const hu_remedy_option *option, const char *key) {
    for (int i = 0; i < option->words; i++)
        if (strncmp(option->word[i], key, strlen(key)) == 0) return true;
    return false;
}

/* Waits without being ended by Ctrl-C: the training hears it too, and says what can be done. */
static hu_status wait_for(pid_t pid, const char *folder) {
    int state = 0;
    struct sigaction ignored = {.sa_handler = SIG_IGN}, before;
    sigaction(SIGINT, &ignored, &before);
    while (waitpid(pid, &state, 0) < 0 && errno == EINTR) continue;
    sigaction(SIGINT, &before, NULL);
    int code = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
    enum { DIVERGED = 4, INTERRUPTED = 130 };
    if (code == 0 || code == DIVERGED) return HU_OK;
    if (code == INTERRUPTED)
        return hu_fail(HU_ERR_INTERRUPTED, "`halfulp resume %s` goes on with it", folder);
    if (code < 0)
        return hu_fail(HU_ERR_IO, "try=: the training of %s was killed by signal %d", folder,
                       WTERMSIG(state));
    return hu_fail(HU_ERR_ARGUMENT, "try=: the training of %s ended with exit code %d, see above",
                   folder, code);
}

/* stdout belongs to the comparison. */
static hu_status spawn(char **words, pid_t *pid) {
    posix_spawn_file_actions_t files;
    if (posix_spawn_file_actions_init(&files) != 0) return hu_fail(HU_ERR_MEMORY, "out of memory");
    int failed = posix_spawn_file_actions_addopen(&files, 1, "/dev/null", 1, 0);
    if (!failed) failed = posix_spawn(pid, "/proc/self/exe", &files, NULL, words, environ);
    posix_spawn_file_actions_destroy(&files);
    return failed ? hu_fail(HU_ERR_IO, "try=: cannot start a process: %s", strerror(failed))
                  : HU_OK;
}

/* The words of the request that the training reads, after the run's own; gives how many. */
static int add_request(const hu_try_request *request, char words[2][WORD_BYTES], char **argv) {
    const char *given[] = {request->threads, request->seed};
    int n = 0;
    for (int i = 0; i < 2; i++) {
        if (!given[i]) continue;
        snprintf(words[n], WORD_BYTES, "%s", given[i]);
        argv[n] = words[n];
        n++;
    }
    return n;
}

/* The folder's path has been measured by name_folder. A loss scale of its own begins as the
 * precision wants it, not as the run's did. */
static hu_status train(const hu_diagnosis *x, const hu_remedy_option *option,
                       const hu_try_request *request, const char *folder) {
    static char program[] = "halfulp", verb[] = "train", fresh[] = "scaler.init=auto";
    static char transport[] = "comm.transport=auto";
    char config[PATH_BYTES + 64], directory[PATH_BYTES + 16];
    char words[HU_REMEDY_WORDS][HU_REMEDY_WORD_BYTES], asked[2][WORD_BYTES];
    char *argv[PROGRAM_WORDS + HU_REMEDY_WORDS];
    int n = 0;
    pid_t pid;
    snprintf(config, sizeof config, "config=%s/config.resolved.yaml", x->run.folder);
    snprintf(directory, sizeof directory, "run.dir=%s", folder);
    argv[n++] = program;
    argv[n++] = verb;
    argv[n++] = config;
    argv[n++] = directory;
    argv[n++] = transport;
    n += add_request(request, asked, &argv[n]);
    if (sets(option, "scaler=") && !sets(option, "scaler.init=")) argv[n++] = fresh;
    for (int i = 0; i < option->words; i++) {
        memcpy(words[i], option->word[i], sizeof words[i]);
        argv[n++] = words[i];
    }
    argv[n] = NULL;
    hu_status st = spawn(argv, &pid);
    return st == HU_OK ? wait_for(pid, folder) : st;
}

/* ---- after ---- */

static void take_outcome(const hu_diagnosis *x, json_t *result, outcome *o) {
    static const char *const verdicts[] = {"nothing died", "numbers died", "diverged"};
    const json_t *loss = json_object_get(result, "train_loss");
    snprintf(o->folder, sizeof o->folder, "%s", x->run.folder);
    o->result = result;
    o->metric = hu_result_metric_of(result);
    o->loss = json_is_number(loss) ? json_number_value(loss) : (double)NAN;
    if (json_object_get(result, "diverged")) o->loss = (double)NAN; /* of no step that was taken */
    o->is_lost = x->run.history->collapsed != NULL;
    o->deaths = x->why.death_count;
    o->trouble = x->why.trouble;
    o->is_hurt = x->why.verdict != HU_VERDICT_FINE;
    o->verdict = verdicts[x->why.verdict];
}

/* What became of the repaired run. */
static hu_status read_repaired(const char *folder, outcome *o) {
    hu_status st = HU_OK;
    hu_diagnosis x = {0};
    json_t *result = NULL;
    HU_TRY(hu_run_record_read(folder, "fp16", &x.run));
    HU_TRY(hu_why_create(&x.run, &x.why));
    HU_TRY(hu_result_read(folder, &result));
    take_outcome(&x, result, o);
done:
    hu_why_free(&x.why);
    hu_run_record_close(&x.run);
    return st;
}

static bool has_diverged(const outcome *o) {
    return json_object_get(o->result, "diverged") != NULL;
}

/* Whether there is more to mend: it learned nothing, or numbers died on the way. */
static bool is_unwell(const outcome *o) {
    return o->is_lost || o->is_hurt;
}

/* By the metric where both have one; a run that came to its end is better than one that diverged.
 */
static bool is_better(const outcome *after, const outcome *before) {
    if (has_diverged(after) != has_diverged(before)) return has_diverged(before);
    if (isnan(after->metric.last) || isnan(before->metric.last)) return after->loss < before->loss;
    return hu_metric_is_better(before->metric.metric, after->metric.last, before->metric.last);
}

static void print_outcome(const outcome *o) {
    char words[HU_METRIC_TEXT_BYTES], value[HU_METRIC_TEXT_BYTES], trouble[HU_TROUBLE_BYTES];
    char loss[32] = "-";
    if (!isnan(o->loss)) snprintf(loss, sizeof loss, "%.4f", o->loss);
    printf("  %s: %s %s, train loss %s, %s", o->folder, hu_metric_words(o->metric.metric, words),
           hu_metric_text(o->metric.metric, o->metric.last, value), loss, o->verdict);
    if (o->is_lost) printf(", collapsed");
    if (o->deaths) printf(", %zu tensor%s lost much", o->deaths, o->deaths == 1 ? "" : "s");
    if (!o->deaths && hu_is_in_trouble(&o->trouble))
        printf(", but %s", hu_trouble_words(&o->trouble, trouble));
    puts("");
}

static json_t *outcome_json(const outcome *o) {
    return json_pack("{s:s, s:o, s:o, s:b, s:I}", "run", o->folder, "metric",
                     hu_json_number(o->metric.last), "train_loss", hu_json_number(o->loss),
                     "diverged", has_diverged(o), "deaths", (json_int_t)o->deaths);
}

static hu_status tell(const outcome *before, const outcome *after, const hu_remedy_option *option,
                      bool as_json) {
    char line[HU_REMEDY_LINE_BYTES];
    bool helped = is_better(after, before);
    hu_remedy_line(option, line);
    if (as_json)
        return hu_json_print(json_pack("{s:s, s:s, s:o, s:o, s:b}", "line", line, "metric",
                                       before->metric.metric->name, "before", outcome_json(before),
                                       "after", outcome_json(after), "helped", helped));
    printf("%s %s:\n", line,
           !helped            ? "did not help"
           : is_unwell(after) ? "helped, but not enough"
                              : "helped");
    print_outcome(before);
    print_outcome(after);
    if (helped && (is_unwell(after) || hu_is_in_trouble(&after->trouble)))
        printf("next: halfulp why %s\n", after->folder);
    return HU_OK;
}

hu_status hu_why_try(const hu_diagnosis *x, const hu_remedy *repair, const hu_try_request *request,
                     bool as_json) {
    hu_status st = HU_OK;
    int64_t number = request->number;
    char folder[PATH_BYTES], line[HU_REMEDY_LINE_BYTES], untold[HU_QUANTIZER_BYTES];
    json_t *result = NULL;
    outcome before = {0}, after = {0};
    if (!repair)
        return hu_fail(HU_ERR_ARGUMENT,
                       "try=%lld: found nothing to train in %s: its numbers died between workers, "
                       "or its configuration cannot be read",
                       (long long)number, x->run.folder);
    HU_TRY(check_run(x, &result));
    HU_TRY(check_option(x, repair, number));
    HU_TRY(name_folder(x->run.folder, request, folder));
    const hu_remedy_option *option = &repair->option[number - 1];
    if (hu_remedy_untold(repair, untold))
        fprintf(stderr,
                "warning: %s recorded no gradients, so that nothing is known of them: they stay in "
                "%s\n",
                x->run.folder, untold);
    fprintf(stderr, "trains %s with %s into %s\n", x->run.folder, hu_remedy_line(option, line),
            folder);
    HU_TRY(train(x, option, request, folder));
    take_outcome(x, result, &before);
    HU_TRY(read_repaired(folder, &after));
    HU_TRY(tell(&before, &after, option, as_json));
done:
    json_decref(result);
    json_decref(after.result);
    return st;
}
