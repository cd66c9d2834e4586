#include "sweep/jobs.h"

#include <errno.h>
#include <fcntl.h>
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
#include "config/unused_keys.h"
#include "runlog/folder.h"
#include "sweep/job_folder.h"

extern char **environ;

enum { MAX_WORDS = HU_JOB_WORDS + 10, POLL_NANOSECONDS = 50000000 };

hu_status hu_jobs_read_states(const hu_jobs *jobs, hu_job *job, int count) {
    hu_status st = HU_OK;
    for (int i = 0; i < count && st == HU_OK; i++) st = hu_job_folder_read(jobs->common, &job[i]);
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
    hu_status kept = hu_job_folder_write_seconds(job);
    if (WIFEXITED(code) && (WEXITSTATUS(code) == 0 || WEXITSTATUS(code) == 4)) {
        double seconds = job->seconds;
        HU_TRY(kept);
        HU_TRY(hu_job_folder_read(jobs->common, job));
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
    hu_job_folder_message(job, job->failure, sizeof job->failure);
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

/* The keys that all jobs share, as a file that each process reads. */
static hu_status write_common(const hu_jobs *jobs) {
    char *yaml = NULL, *path = NULL;
    hu_status st;
    HU_TRY(hu_keys_print(jobs->common, &yaml));
    HU_TRY(hu_path_join(jobs->directory, "common.yaml", &path));
    HU_TRY(hu_file_replace(path, yaml, strlen(yaml)));
done:
    hu_free(yaml);
    hu_free(path);
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

hu_status hu_jobs_directory(const hu_config *config, const hu_keys *common, const char *verb,
                            char *directory, size_t capacity) {
    hu_status st = HU_OK;
    const char *given, *model, *name;
    char *yaml = NULL;
    HU_TRY(hu_config_text(config, "run.dir", &given));
    HU_TRY(hu_config_text(config, "model.name", &model));
    HU_TRY(hu_config_text(config, "run.name", &name));
    if (strlen(given) >= capacity || !*given)
        HU_TRY(hu_fail(HU_ERR_ARGUMENT, "run.dir: found %zu characters, expected 1 to %zu",
                       strlen(given), capacity - 1));
    snprintf(directory, capacity, "%s", given);
    if (strcmp(given, "auto") == 0 && strcmp(name, "auto") != 0) {
        snprintf(directory, capacity, "runs/%.200s", name);
    } else if (strcmp(given, "auto") == 0) {
        HU_TRY(hu_keys_print(common, &yaml));
        snprintf(directory, capacity, "runs/%s-%.60s-%08x", verb, model,
                 (unsigned)(XXH64(yaml, strlen(yaml), 0) >> 32));
    }
done:
    hu_free(yaml);
    return st;
}

hu_status hu_jobs_options(const hu_config *config, const char *directory, const hu_keys *common,
                          hu_jobs *jobs) {
    hu_status st = HU_OK;
    int64_t parallel, threads;
    *jobs = (hu_jobs){.directory = directory, .common = common};
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
