#include "sweep/jobs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <omp.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/text.h"
#include "config/config.h"
#include "config/unused_keys.h"
#include "format/table/keep.h"
#include "runlog/folder.h"
#include "runlog/progress.h"

/* ---- One training in a process of its own ---- */

hu_status hu_job_word(hu_job *job, const char *key, const char *value) {
    if (job->words == HU_JOB_WORDS || strlen(key) + strlen(value) + 2 > HU_JOB_WORD_BYTES)
        return hu_fail(HU_ERR_LIMIT, "%s: found '%.100s' of %zu bytes, expected less", key, value,
                       strlen(value));
    snprintf(job->word[job->words++], HU_JOB_WORD_BYTES, "%s=%s", key, value);
    return HU_OK;
}

/* ---- job folder ---- */

enum { TAIL_BYTES = 4096 };

/* Numbers of plan.json that a result of an older version does not have. */
static hu_status add_planned(const char *directory, json_t *result) {
    char *path = NULL;
    json_t *plan = NULL;
    hu_status st = HU_OK;
    if (!result || json_object_get(result, "model_aggregate_bits")) return HU_OK;
    HU_TRY(hu_path_join(directory, "plan.json", &path));
    HU_TRY(hu_json_load(path, &plan));
    json_t *bits = json_object_get(plan, "model_aggregate_bits");
    if (json_is_number(bits)) json_object_set(result, "model_aggregate_bits", bits);
done:
    json_decref(plan);
    hu_free(path);
    return st;
}

/* A key as a word gives it: the items of a list with commas between them. */
static const char *text_of(const hu_keys *node, char *text, size_t capacity) {
    if (!node) return "nothing";
    if (hu_keys_kind_of(node) != HU_KEYS_LIST) return hu_keys_value(node);
    return hu_keys_join(node, ",", text, capacity);
}

static hu_status check_text(const char *directory, const hu_keys *saved, const char *key,
                            const char *expected) {
    char room[HU_JOB_WORD_BYTES];
    const char *found = text_of(hu_keys_find(saved, key), room, sizeof room);
    if (strcmp(found, expected) == 0 || strcmp(expected, "auto") == 0) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "%s: key '%s': found '%.100s', expected '%.100s'; run.dir=NEW begins anew",
                   directory, key, found, expected);
}

/* A key of the command against the run's own. Lists are the same if they print the same. */
static hu_status check_node(const char *directory, const hu_keys *saved, const char *key,
                            const hu_keys *given) {
    if (hu_keys_kind_of(given) == HU_KEYS_TEXT)
        return check_text(directory, saved, key, hu_keys_value(given));
    const hu_keys *node = hu_keys_find(saved, key);
    if (node && hu_keys_equal(node, given)) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "%s: key '%s': its list is not that of this command; run.dir=NEW begins anew",
                   directory, key);
}

/* The keys of a plan file that stands in place of a precision; the common ones win. */
static hu_status check_plan(const char *directory, const hu_keys *common, const hu_keys *saved,
                            const char *path) {
    hu_keys *plan = NULL;
    char key[128];
    hu_status st = hu_plan_read(path, &plan);
    const hu_keys *map = st == HU_OK ? hu_keys_find(plan, "precision") : NULL;
    for (size_t i = 0; map && i < hu_keys_count(map) && st == HU_OK; i++) {
        const hu_keys *node = hu_keys_at(map, i);
        snprintf(key, sizeof key, "precision.%s", hu_keys_name(node));
        if (!hu_keys_find(common, key)) st = check_node(directory, saved, key, node);
    }
    hu_keys_free(plan);
    return st;
}

/* The job's own words against the run's keys; a plan file stands for the keys in it. */
static hu_status check_words(const hu_job *job, const hu_keys *common, const hu_keys *saved) {
    hu_status st = HU_OK;
    char key[128];
    for (int i = 0; i < job->words && st == HU_OK; i++) {
        const char *equals = strchr(job->word[i], '=');
        snprintf(key, sizeof key, "%.*s", (int)(equals - job->word[i]), job->word[i]);
        bool is_plan = strcmp(key, "precision.name") == 0 && hu_is_plan_path(equals + 1);
        st = is_plan ? check_plan(job->directory, common, saved, equals + 1)
                     : check_text(job->directory, saved, key, equals + 1);
    }
    return st;
}

/* Whether a word of the job sets the key; the word wins over the common keys. */
static bool is_in_words(const hu_job *job, const char *key) {
    size_t length = strlen(key);
    for (int i = 0; i < job->words; i++)
        if (strncmp(job->word[i], key, length) == 0 && job->word[i][length] == '=') return true;
    return false;
}

/* The run in the folder must be the job's: every key that changes a training is compared, so that a
 * result is never taken for another's. */
static hu_status check_config(const hu_job *job, const hu_keys *common, const char *path) {
    hu_keys *saved = NULL;
    hu_status st = hu_yaml_read(path, &saved);
    for (size_t i = 0; i < hu_config_key_count && st == HU_OK; i++) {
        const char *key = hu_config_keys[i].name;
        const hu_keys *node = hu_keys_find(common, key);
        if (node && !hu_config_key_is_free(key) && !is_in_words(job, key))
            st = check_node(job->directory, saved, key, node);
    }
    if (st == HU_OK) st = check_words(job, common, saved);
    hu_keys_free(saved);
    return st;
}

/* Seconds of earlier processes; 0 if they are not known. */
static double read_seconds(const hu_job *job) {
    char path[1100];
    double seconds = 0.0;
    snprintf(path, sizeof path, "%s/seconds", job->directory);
    FILE *file = fopen(path, "r");
    if (!file) return 0.0;
    if (fscanf(file, "%lf", &seconds) != 1 || !(seconds >= 0.0)) seconds = 0.0;
    fclose(file);
    return seconds;
}

/* Keeps the seconds for the next process. */
static hu_status job_folder_write_seconds(const hu_job *job) {
    char path[1100], text[64];
    snprintf(path, sizeof path, "%s/seconds", job->directory);
    snprintf(text, sizeof text, "%.17g\n", job->seconds);
    return hu_file_replace(path, text, strlen(text));
}

/* The run in the folder must have been begun with the network of this command. */
static hu_status check_network(const hu_jobs *jobs, const hu_job *job) {
    char *path = NULL;
    uint8_t *text = NULL;
    uint64_t size;
    size_t length = jobs->network ? strlen(jobs->network) : 0, bytes = 0;
    hu_status st = HU_OK;
    if (!jobs->network) return HU_OK;
    HU_TRY(hu_path_join(job->directory, HU_NETWORK_FILE, &path));
    HU_TRY(hu_file_size(path, &size));
    if (size == length) HU_TRY(hu_file_read_plain(path, length, &text, &bytes));
    if (size != length || bytes != length || memcmp(text, jobs->network, length) != 0)
        st = hu_fail(HU_ERR_ARGUMENT,
                     "%s: found another text than that of %s; run.dir=NEW begins anew", path,
                     jobs->model);
done:
    hu_free(text);
    hu_free(path);
    return st;
}

/* Fills state, result and seconds from the folder. HU_ERR_ARGUMENT naming the key or the file if
 * its configuration, network or tables are not the job's, HU_ERR_CORRUPT if the result cannot be
 * read. */
static hu_status job_folder_read(const hu_jobs *jobs, hu_job *job) {
    hu_status st = HU_OK;
    char *path = NULL;
    bool is_present;
    json_decref(job->result);
    job->result = NULL;
    job->seconds = 0.0;
    job->state = HU_JOB_NEW;
    HU_TRY(hu_run_folder_check_owned(job->directory));
    HU_TRY(hu_path_join(job->directory, "config.resolved.yaml", &path));
    HU_TRY(hu_file_find(path, &is_present));
    if (!is_present) goto done;
    HU_TRY(check_config(job, jobs->common, path));
    HU_TRY(check_network(jobs, job));
    HU_TRY(hu_code_tables_check(job->directory));
    HU_TRY(hu_result_read(job->directory, &job->result));
    HU_TRY(add_planned(job->directory, job->result));
    job->state = job->result ? HU_JOB_DONE : HU_JOB_STOPPED;
    job->seconds = read_seconds(job);
done:
    hu_free(path);
    return st;
}

/* The last bytes of a file of the folder; "" if there are none. */
static void read_tail(const hu_job *job, const char *name, char *tail) {
    char path[1100];
    tail[0] = '\0';
    snprintf(path, sizeof path, "%s/%s", job->directory, name);
    FILE *file = fopen(path, "r");
    if (!file) return;
    if (fseek(file, -(long)(TAIL_BYTES - 1), SEEK_END) != 0) rewind(file);
    tail[fread(tail, 1, TAIL_BYTES - 1, file)] = '\0';
    fclose(file);
}

/* The error message that the process left in its log. */
static void job_folder_message(const hu_job *job, char *message, size_t capacity) {
    static const char prefix[] = "halfulp: ";
    char tail[TAIL_BYTES];
    read_tail(job, "log.txt", tail);
    const char *last = NULL;
    for (const char *at = tail; (at = strstr(at, prefix)) != NULL; at++)
        if (at == tail || at[-1] == '\n') last = at + sizeof prefix - 1;
    if (!last) last = "the process left no message";
    snprintf(message, capacity, "%.*s", (int)strcspn(last, "\n"), last);
}

bool hu_job_folder_step(const hu_job *job, long long *step, long long *steps) {
    char tail[TAIL_BYTES], *end;
    hu_run_standing standing;
    if (hu_run_standing_read(job->directory, &standing) != HU_OK) standing.steps = -1;
    *steps = (long long)standing.steps;
    hu_run_standing_free(&standing);
    read_tail(job, "metrics.csv", tail);
    char *stop = strrchr(tail, '\n');
    if (!stop) return false;
    *stop = '\0';
    const char *line = strrchr(tail, '\n');
    *step = strtoll(line ? line + 1 : tail, &end, 10);
    return *end == ',';
}

extern char **environ;

enum { MAX_WORDS = HU_JOB_WORDS + 10, POLL_NANOSECONDS = 50000000 };

hu_status hu_jobs_read_states(const hu_jobs *jobs, hu_job *job, int count) {
    hu_status st = HU_OK;
    for (int i = 0; i < count && st == HU_OK; i++) st = job_folder_read(jobs, &job[i]);
    return st;
}

void hu_jobs_free(hu_job *job, int count) {
    for (int i = 0; job && i < count; i++) json_decref(job[i].result);
}

/* stdin and stdout lead nowhere, stderr goes to the end of the folder's log.txt. */
static hu_status open_files(const hu_job *job, posix_spawn_file_actions_t *files) {
    char path[1100];
    snprintf(path, sizeof path, "%s/log.txt", job->directory);
    int failed = posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDONLY, 0);
    if (!failed) failed = posix_spawn_file_actions_addopen(files, 1, "/dev/null", O_WRONLY, 0);
    if (!failed)
        failed =
            posix_spawn_file_actions_addopen(files, 2, path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    return failed ? hu_fail(HU_ERR_MEMORY, "%s: out of memory", path) : HU_OK;
}

/* A process group of its own: Ctrl-C in the terminal reaches this process, which passes it on
 * once; the second one would stop a training without a checkpoint. */
static hu_status spawn(char **words, hu_job *job) {
    hu_status st = HU_OK;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&files) != 0)
        return hu_fail(HU_ERR_MEMORY, "%s: out of memory", job->directory);
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&files);
        return hu_fail(HU_ERR_MEMORY, "%s: out of memory", job->directory);
    }
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    HU_TRY(open_files(job, &files));
    int failed = posix_spawn(&job->pid, "/proc/self/exe", &files, &attributes, words, environ);
    if (failed)
        HU_TRY(
            hu_fail(HU_ERR_IO, "%s: cannot start a process: %s", job->directory, strerror(failed)));
    job->state = HU_JOB_RUNNING;
    job->started = hu_seconds_now();
done:
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return st;
}

/* The words of a new training. A plan file is read as a configuration before the common one, so
 * that the keys of the command win, as beside `train precision=PLAN.yaml`. plan: room for its word.
 */
static int train_words(hu_job *job, char *config, char plan[HU_JOB_WORD_BYTES], char **words) {
    static const char key[] = "precision.name=";
    int n = 0;
    for (int i = 0; i < job->words; i++) {
        const char *path = job->word[i] + sizeof key - 1;
        bool is_plan = strncmp(job->word[i], key, sizeof key - 1) == 0 && hu_is_plan_path(path);
        if (is_plan) snprintf(plan, HU_JOB_WORD_BYTES, "config=%s", path);
        words[n++] = is_plan ? plan : job->word[i];
    }
    words[n++] = config;
    return n;
}

/* Words of the process: train with the common configuration, or resume of what was stopped. */
static hu_status start(const hu_jobs *jobs, hu_job *job) {
    char config[1100], folder[1100], threads[64], plan[HU_JOB_WORD_BYTES];
    char quiet[] = "run.quiet=on", json[] = "--json", name[] = "halfulp";
    char train[] = "train", resume[] = "resume";
    char *words[MAX_WORDS];
    int n = 0;
    hu_status st = hu_directory_create(job->directory);
    if (st == HU_OK) st = hu_run_folder_check_owned(job->directory);
    if (st != HU_OK) return st;
    snprintf(config, sizeof config, "config=%s/common.yaml", jobs->directory);
    snprintf(folder, sizeof folder, "run.dir=%s", job->directory);
    snprintf(threads, sizeof threads, "run.threads=%d", jobs->threads);
    words[n++] = name;
    if (job->state == HU_JOB_STOPPED) {
        words[n++] = resume;
        words[n++] = job->directory;
    } else {
        words[n++] = train;
        n += train_words(job, config, plan, words + n);
        words[n++] = folder;
    }
    words[n++] = threads;
    words[n++] = quiet;
    words[n++] = json;
    words[n] = NULL;
    return spawn(words, job);
}

/* What the end of a process means. usage and data errors concern the command, not the row. */
static hu_status read_exit(const hu_jobs *jobs, hu_job *job, int code) {
    hu_status st = HU_OK;
    job->seconds += hu_seconds_now() - job->started;
    hu_status kept = job_folder_write_seconds(job);
    if (WIFEXITED(code) && (WEXITSTATUS(code) == 0 || WEXITSTATUS(code) == 4)) {
        double seconds = job->seconds;
        HU_TRY(kept);
        HU_TRY(job_folder_read(jobs, job));
        job->seconds = seconds;
        if (job->state == HU_JOB_DONE) return HU_OK;
    } else if ((WIFEXITED(code) && WEXITSTATUS(code) == 130) ||
               (WIFSIGNALED(code) && WTERMSIG(code) == SIGINT)) {
        job->state = HU_JOB_STOPPED;
        return HU_OK;
    }
    /* Why it failed comes first: a full disk may be why its seconds cannot be kept, either. */
    job->state = HU_JOB_FAILED;
    job->exit_code = WIFEXITED(code) ? WEXITSTATUS(code) : 0;
    job_folder_message(job, job->failure, sizeof job->failure);
    if (WIFEXITED(code) && (WEXITSTATUS(code) == 2 || WEXITSTATUS(code) == 3))
        return hu_fail(WEXITSTATUS(code) == 2 ? HU_ERR_ARGUMENT : HU_ERR_CORRUPT, "%s: %s",
                       job->label, job->failure);
    if (WIFSIGNALED(code))
        snprintf(job->failure, sizeof job->failure, "ended by signal %d (%s)", WTERMSIG(code),
                 strsignal(WTERMSIG(code)));
done:
    return st;
}

/* Takes up what has ended; *running counts what has not. */
static hu_status collect_ended(const hu_jobs *jobs, hu_job *job, int count, int *running) {
    hu_status st = HU_OK;
    *running = 0;
    for (int i = 0; i < count; i++) {
        int code;
        if (job[i].state != HU_JOB_RUNNING) continue;
        pid_t ended = waitpid(job[i].pid, &code, WNOHANG);
        if (ended == 0 || (ended < 0 && errno == EINTR)) {
            hu_job_progress_step(jobs->progress, job, count, i);
            ++*running;
            continue;
        }
        hu_status end = ended < 0 ? hu_fail(HU_ERR_INTERNAL, "lost a process: %s", strerror(errno))
                                  : read_exit(jobs, &job[i], code);
        if (ended < 0) job[i].state = HU_JOB_FAILED;
        hu_status told = hu_job_progress_ended(jobs->progress, job, count, i);
        if (st == HU_OK) st = end;
        if (st == HU_OK) st = told;
        if (st == HU_OK && jobs->after) st = jobs->after(jobs->context);
    }
    return st;
}

static void signal_all(const hu_job *job, int count, int number) {
    for (int i = 0; i < count; i++)
        if (job[i].state == HU_JOB_RUNNING) kill(job[i].pid, number);
}

/* Waits until all that run have saved and stopped. */
static void stop_all(const hu_jobs *jobs, hu_job *job, int count) {
    const struct timespec pause = {.tv_nsec = POLL_NANOSECONDS};
    int running;
    signal_all(job, count, SIGINT);
    while (collect_ended(jobs, job, count, &running), running > 0) nanosleep(&pause, NULL);
}

static int count_left(const hu_job *job, int count) {
    int left = 0;
    for (int i = 0; i < count; i++) left += job[i].state != HU_JOB_DONE;
    return left;
}

static hu_status write_file(const hu_jobs *jobs, const char *name, const char *text) {
    char *path;
    hu_status st = hu_path_join(jobs->directory, name, &path);
    if (st == HU_OK) st = hu_file_replace(path, text, strlen(text));
    hu_free(path);
    return st;
}

/* The keys that all jobs share, as a file that each process reads, and the network beside it: all
 * read the same text, whatever becomes of the user's file between two of them. */
static hu_status write_common(const hu_jobs *jobs) {
    char *yaml = NULL;
    hu_status st;
    HU_TRY(hu_keys_print(jobs->common, &yaml));
    if (jobs->network) HU_TRY(write_file(jobs, HU_NETWORK_FILE, jobs->network));
    HU_TRY(write_file(jobs, "common.yaml", yaml));
done:
    hu_free(yaml);
    return st;
}

hu_status hu_jobs_run(const hu_jobs *jobs, hu_job *job, int count) {
    hu_status st = HU_OK;
    char message[1024];
    const struct timespec pause = {.tv_nsec = POLL_NANOSECONDS};
    int next = 0, running = 0;
    HU_TRY(write_common(jobs));
    while (next < count || running > 0) {
        bool is_stopped = jobs->interrupted && *jobs->interrupted;
        for (; !is_stopped && next < count && running < jobs->parallel; next++) {
            if (job[next].state == HU_JOB_DONE) continue;
            HU_TRY(hu_job_progress_begins(jobs->progress, job, count, next));
            HU_TRY(start(jobs, &job[next]));
            running++;
        }
        /* Jobs are asked 20 times a second; trainings take seconds to hours. */
        if (running > 0 && !is_stopped) nanosleep(&pause, NULL);
        if (is_stopped) stop_all(jobs, job, count);
        HU_TRY(collect_ended(jobs, job, count, &running));
        if (is_stopped)
            HU_TRY(hu_fail(HU_ERR_INTERRUPTED,
                           "%d of %d rows are left; the same command goes on with them (%s)",
                           count_left(job, count), count, jobs->directory));
    }
done:
    if (st != HU_OK && st != HU_ERR_INTERRUPTED) {
        snprintf(message, sizeof message, "%s", hu_last_error());
        stop_all(jobs, job, count);
        hu_fail(st, "%s", message);
    }
    return st;
}

/* ---- What compare and assign read of the configuration for their jobs ---- */

hu_status hu_jobs_seeds(const hu_config *config, const char *verb, hu_keys **seeds) {
    hu_status st = HU_OK;
    const hu_keys *given;
    int64_t seed, other;
    HU_TRY(hu_config_list(config, "compare.seeds", &given));
    if (hu_config_given(config, "run.seed"))
        return hu_fail(HU_ERR_ARGUMENT, "%s: found seed, expected seeds=A,B,...", verb);
    for (size_t i = 0; i < hu_keys_count(given); i++) {
        HU_TRY(hu_keys_as_i64(hu_keys_at(given, i), &seed));
        if (seed < 0 || seed > 9007199254740991)
            return hu_keys_fail(hu_keys_at(given, i), "a seed from 0 to 9007199254740991");
        for (size_t k = 0; k < i; k++) {
            HU_TRY(hu_keys_as_i64(hu_keys_at(given, k), &other));
            if (seed == other) return hu_keys_fail(hu_keys_at(given, i), "a seed only once");
        }
    }
    if (hu_keys_count(given) == 0)
        return hu_fail(HU_ERR_ARGUMENT, "%s: found an empty list of seeds", verb);
    HU_TRY(hu_keys_copy(given, seeds));
done:
    return st;
}

hu_status hu_jobs_common(const hu_config *config, const char *verb, hu_keys **common) {
    hu_status st = HU_OK;
    hu_keys *copy;
    HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, verb, common));
    for (size_t i = 0; i < hu_config_key_count; i++) {
        const char *key = hu_config_keys[i].name;
        if (!hu_config_given(config, key) || hu_config_key_is_free(key)) continue;
        /* Each job has its own precision and seed. */
        if (strcmp(key, "precision.name") == 0 || strcmp(key, "run.seed") == 0) continue;
        HU_TRY(hu_keys_copy(hu_keys_find(hu_config_tree(config), key), &copy));
        HU_TRY(hu_keys_set(*common, key, copy));
    }
done:
    return st;
}

/* A name made of what is trained; characters of a model's path that a file name should not hold
 * become '_'. */
static hu_status name_directory(hu_config *config, const char *yaml, const char *verb,
                                char *directory, size_t capacity) {
    hu_status st = HU_OK;
    const char *model, *network;
    const hu_keys *file;
    HU_TRY(hu_config_text(config, "model.name", &model));
    HU_TRY(hu_config_network(config, &file));
    network = file ? hu_config_network_text(config) : "";
    uint64_t hash = XXH64(yaml, strlen(yaml), 0);
    if (file) hash = XXH64(network, strlen(network), hash);
    snprintf(directory, capacity, "runs/%s-%.60s-%08x", verb, model, (unsigned)(hash >> 32));
    for (char *c = directory + strlen("runs/"); *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.", *c)) *c = '_';
done:
    return st;
}

hu_status hu_jobs_directory(hu_config *config, const hu_keys *common, const char *verb,
                            char *directory, size_t capacity) {
    hu_status st = HU_OK;
    const char *given, *name;
    char *yaml = NULL;
    HU_TRY(hu_config_text(config, "run.dir", &given));
    HU_TRY(hu_config_text(config, "run.name", &name));
    if (strlen(given) >= capacity || !*given)
        HU_TRY(hu_fail(HU_ERR_ARGUMENT, "run.dir: found %zu characters, expected 1 to %zu",
                       strlen(given), capacity - 1));
    snprintf(directory, capacity, "%s", given);
    if (strcmp(given, "auto") == 0 && strcmp(name, "auto") != 0) {
        snprintf(directory, capacity, "runs/%.200s", name);
    } else if (strcmp(given, "auto") == 0) {
        HU_TRY(hu_keys_print(common, &yaml));
        HU_TRY(name_directory(config, yaml, verb, directory, capacity));
    }
done:
    hu_free(yaml);
    return st;
}

hu_status hu_jobs_options(hu_config *config, const char *directory, const hu_keys *common,
                          hu_jobs *jobs) {
    hu_status st = HU_OK;
    int64_t parallel, threads;
    const hu_keys *file;
    *jobs = (hu_jobs){.directory = directory, .common = common};
    HU_TRY(hu_config_text(config, "model.name", &jobs->model));
    HU_TRY(hu_config_network(config, &file));
    if (file) jobs->network = hu_config_network_text(config);
    HU_TRY(hu_config_i64(config, "compare.parallel", &parallel));
    jobs->parallel = (int)parallel;
    /* The processors are shared out evenly, at least one for each process. */
    threads = omp_get_num_procs() / parallel > 0 ? omp_get_num_procs() / parallel : 1;
    if (!hu_config_is_auto(config, "run.threads"))
        HU_TRY(hu_config_i64(config, "run.threads", &threads));
    jobs->threads = (int)threads;
    if (!hu_config_is_auto(config, "run.quiet"))
        HU_TRY(hu_config_bool(config, "run.quiet", &jobs->is_quiet));
done:
    return st;
}
