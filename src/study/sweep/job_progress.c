
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/process.h"
#include "render/terminal.h"
#include "runlog/folder.h"
#include "runlog/progress.h"
#include "runlog/result.h"
#include "sweep/jobs.h"

hu_status hu_job_progress_open(const char *folder, const char *verb, int rows, int done,
                               hu_job_progress *progress) {
    hu_status st = hu_progress_open(folder, &progress->file);
    if (st != HU_OK) return st;
    json_t *facts = json_pack("{s:s, s:s}", "verb", verb, "folder", folder);
    if (facts && rows > 0) json_object_set_new(facts, "rows", json_integer(rows));
    if (facts) json_object_set_new(facts, "done", json_integer(done));
    return hu_progress_write(progress->file, "start", facts, NULL);
}

hu_status hu_job_progress_end(hu_job_progress *progress, hu_status status) {
    char words[1024];
    const char *state = status == HU_ERR_INTERRUPTED ? "interrupted" : "failed";
    if (!progress->file) return status;
    snprintf(words, sizeof words, "%s", status == HU_OK ? "" : hu_last_error());
    json_t *facts = json_pack("{s:s}", "state", status == HU_OK ? "finished" : state);
    if (facts && *words) json_object_set_new(facts, "reason", json_string(words));
    hu_status st = hu_progress_write(progress->file, "end", facts, NULL);
    return status == HU_OK ? st : hu_fail(status, "%s", words);
}

void hu_job_progress_close(hu_job_progress *progress) {
    hu_progress_close(progress->file);
    *progress = (hu_job_progress){0};
}

/* Rows of the command, and the number of a job among them, from 1 on. */
static int rows_of(const hu_job_progress *progress, int count) {
    return progress->rows > 0 ? progress->rows : count;
}

static int number_of(const hu_job_progress *progress, int index) {
    return (progress->rows > 0 ? progress->first : 0) + index + 1;
}

static bool is_over(const hu_job *job) {
    return job->state == HU_JOB_DONE || job->state == HU_JOB_FAILED;
}

/* Seconds of all processes that worked at a job so far. */
static double seconds_of(const hu_job *job) {
    bool is_running = job->state == HU_JOB_RUNNING;
    return job->seconds + (is_running ? hu_seconds_now() - job->started : 0.0);
}

/* Seconds of a whole training as its steps so far foretell them; NaN: they do not. */
static double foretold(const hu_job *job) {
    long long step, steps;
    if (job->state != HU_JOB_RUNNING || !hu_job_folder_step(job, &step, &steps)) return (double)NAN;
    return steps > step ? seconds_of(job) * (double)steps / (double)(step + 1) : (double)NAN;
}

double hu_job_progress_left(const hu_job_progress *progress, const hu_job *job, int count) {
    int waiting = rows_of(progress, count) - number_of(progress, count - 1), running = 0;
    double rest = 0.0, whole = 0.0;
    for (int i = 0; i < count; i++) {
        double one = foretold(&job[i]);
        if (is_over(&job[i])) continue;
        waiting += isnan(one);
        running += !isnan(one);
        whole += isnan(one) ? 0.0 : one;
        rest += isnan(one) ? 0.0 : one - seconds_of(&job[i]);
    }
    double mean =
        progress->ended > 0 ? progress->seconds / (double)progress->ended : whole / (double)running;
    if (waiting > 0) rest += (double)waiting * mean;
    return rest / (double)(progress->parallel > 0 ? progress->parallel : 1);
}

/* "row 3 of 20: ", or nothing for a job that is alone. */
static void say_place(const hu_job_progress *progress, int count, int index) {
    if (rows_of(progress, count) > 1)
        fprintf(stderr, "row %d of %d: ", number_of(progress, index), rows_of(progress, count));
}

/* Of a job that has ended; where the test samples were not read, of the validation samples. */
static hu_result_metric metric_of(const hu_job *job, bool *is_held) {
    hu_result_metric made = hu_result_metric_of(job->result);
    *is_held = isnan(made.last);
    return *is_held ? hu_result_validation_of(job->result) : made;
}

/* "accuracy 87.31 %, 12 s, 4:10 left". */
static void say_metric(const hu_job *job, double left) {
    char words[HU_METRIC_TEXT_BYTES], value[HU_METRIC_TEXT_BYTES], span[HU_DURATION_BYTES];
    bool is_held;
    hu_result_metric made = metric_of(job, &is_held);
    fprintf(stderr, "%s%s %s, %.0f s", is_held ? "validation " : "",
            hu_metric_words(made.metric, words), hu_metric_text(made.metric, made.last, value),
            job->seconds);
    if (left > 0.0) fprintf(stderr, ", %s left", hu_duration_text(left, span));
    fputc('\n', stderr);
}

static const char *state_of(const hu_job *job) {
    if (job->state == HU_JOB_FAILED) return "failed";
    if (job->state != HU_JOB_DONE) return "stopped";
    return json_object_get(job->result, "diverged") ? "diverged" : "finished";
}

static void say_end(const hu_job_progress *progress, const hu_job *job, int count, int index,
                    double left) {
    if (hu_terminal_is_live(STDERR_FILENO)) fprintf(stderr, "\r\033[K");
    say_place(progress, count, index);
    fprintf(stderr, "%s: ", job[index].label);
    if (job[index].state == HU_JOB_FAILED)
        fprintf(stderr, "failed: %s\n", job[index].failure);
    else if (job[index].state == HU_JOB_STOPPED)
        fprintf(stderr, "stopped\n");
    else if (json_object_get(job[index].result, "diverged"))
        fprintf(stderr, "diverged after %.0f s\n", job[index].seconds);
    else
        say_metric(&job[index], left);
}

/* The event "row". left: NaN or 0 is not written. */
static hu_status write_row(hu_job_progress *progress, const hu_job *job, int number, int rows,
                           const char *state, double left) {
    bool is_held;
    hu_result_metric made = metric_of(job, &is_held);
    if (!progress->file) return HU_OK;
    json_t *facts = json_pack("{s:i, s:i, s:s, s:s, s:s, s:o}", "row", number, "rows", rows,
                              "label", job->label, "run", job->directory, "state", state, "seconds",
                              hu_json_number(job->seconds));
    if (facts && job->state == HU_JOB_DONE)
        json_object_set_new(facts, "metric",
                            json_pack("{s:s, s:s, s:o}", "name", made.metric->name, "part",
                                      is_held ? "validation" : "test", "value",
                                      hu_json_number(made.last)));
    if (facts && left > 0.0) json_object_set_new(facts, "left_seconds", hu_json_number(left));
    return hu_progress_write(progress->file, "row", facts, NULL);
}

hu_status hu_job_progress_begins(hu_job_progress *progress, const hu_job *job, int count,
                                 int index) {
    progress->spoke = hu_seconds_now();
    if (!progress->is_quiet) {
        say_place(progress, count, index);
        fprintf(stderr, "%s%s\n", job[index].label,
                job[index].state == HU_JOB_STOPPED ? " (goes on)" : "");
    }
    return write_row(progress, &job[index], number_of(progress, index), rows_of(progress, count),
                     "begins", (double)NAN);
}

hu_status hu_job_progress_ended(hu_job_progress *progress, const hu_job *job, int count,
                                int index) {
    if (job[index].state == HU_JOB_DONE) {
        progress->ended++;
        progress->seconds += job[index].seconds;
    }
    double left = hu_job_progress_left(progress, job, count);
    progress->spoke = hu_seconds_now();
    if (!progress->is_quiet) say_end(progress, job, count, index, left);
    return write_row(progress, &job[index], number_of(progress, index), rows_of(progress, count),
                     state_of(&job[index]), left);
}

/* On a terminal a line in the place of the last one, every second; elsewhere one a minute. */
void hu_job_progress_step(hu_job_progress *progress, const hu_job *job, int count, int index) {
    const double minute = 60.0;
    char span[HU_DURATION_BYTES];
    long long step, steps;
    bool is_live = hu_terminal_is_live(STDERR_FILENO);
    double now = hu_seconds_now();
    if (progress->is_quiet || now - progress->spoke < (is_live ? 1.0 : minute)) return;
    progress->spoke = now;
    if (!hu_job_folder_step(&job[index], &step, &steps)) return;
    double left = hu_job_progress_left(progress, job, count);
    if (is_live) fprintf(stderr, "\r\033[K");
    say_place(progress, count, index);
    fprintf(stderr, "%s: step %lld, %.0f s", job[index].label, step, seconds_of(&job[index]));
    if (left > 0.0) fprintf(stderr, ", %s left", hu_duration_text(left, span));
    if (!is_live) fputc('\n', stderr);
    fflush(stderr);
}

/* ---- Trainings in the command's own process ---- */

struct hu_rows {
    hu_job *job; /* [count] */
    int count, begun;
    hu_job_progress progress;
    int lock; /* descriptor of the folder */
    hu_listener own;
    double left; /* seconds of all rows, as the latest step foretells; NaN: unknown */
};

hu_status hu_rows_open(const char *folder, const char *verb, int count, hu_rows **rows) {
    hu_status st = HU_OK;
    hu_rows *made = NULL;
    *rows = NULL;
    HU_TRY(HU_NEW(&made));
    *made = (hu_rows){.count = count, .lock = -1};
    HU_TRY(HU_NEW_ARRAY(&made->job, (size_t)count));
    HU_TRY(hu_directory_create(folder));
    /* Two commands in one folder would mix their rows. */
    HU_TRY(hu_run_folder_lock(folder, "working", &made->lock));
    HU_TRY(hu_job_progress_open(folder, verb, count, 0, &made->progress));
    *rows = made;
    made = NULL;
done:
    return hu_rows_close(made, st);
}

/* The row that was begun last. */
static hu_job *current(hu_rows *rows) {
    return &rows->job[rows->begun - 1];
}

hu_status hu_rows_begin(hu_rows *rows, const char *label, const char *directory) {
    rows->begun++;
    hu_job *job = current(rows);
    snprintf(job->label, sizeof job->label, "%s", label);
    snprintf(job->directory, sizeof job->directory, "%s", directory);
    hu_status st = hu_job_progress_begins(&rows->progress, rows->job, rows->count, rows->begun - 1);
    job->state = HU_JOB_RUNNING;
    job->started = hu_seconds_now();
    return st;
}

static void hear_step(void *context, const hu_step_news *news) {
    hu_rows *rows = context;
    hu_step_news all = *news;
    int waiting = rows->count - rows->begun;
    double own = hu_seconds_now() - current(rows)->started + news->left;
    double mean =
        rows->progress.ended > 0 ? rows->progress.seconds / (double)rows->progress.ended : own;
    rows->left = all.left = news->left + (double)waiting * mean;
    if (rows->own.on_step) rows->own.on_step(rows->own.context, &all);
}

/* A line that tells the time that is left tells that of all rows, too. */
static void hear_event(void *context, const char *event, const char *lines) {
    const hu_rows *rows = context;
    char text[HU_PROGRESS_TEXT_BYTES + 64], span[HU_DURATION_BYTES];
    bool is_timed = strcmp(event, "epoch") == 0 || strcmp(event, "step") == 0;
    if (!rows->own.on_event) return;
    if (is_timed && rows->begun < rows->count && !isnan(rows->left)) {
        snprintf(text, sizeof text, "%s (%s of all rows)", lines,
                 hu_duration_text(rows->left, span));
        lines = text;
    }
    rows->own.on_event(rows->own.context, event, lines);
}

static void hear_message(void *context, const char *text) {
    const hu_rows *rows = context;
    if (rows->own.on_message) rows->own.on_message(rows->own.context, text);
}

void hu_rows_listen(hu_rows *rows, const hu_listener *own, hu_listener *made) {
    rows->own = *own;
    rows->left = (double)NAN;
    *made = (hu_listener){rows, hear_event, hear_step, hear_message};
}

hu_status hu_rows_ended(hu_rows *rows) {
    hu_job *job = current(rows);
    job->state = HU_JOB_DONE;
    job->seconds = hu_seconds_now() - job->started;
    hu_status st = hu_result_read(job->directory, &job->result);
    if (st != HU_OK) return st;
    return hu_job_progress_ended(&rows->progress, rows->job, rows->count, rows->begun - 1);
}

hu_status hu_rows_close(hu_rows *rows, hu_status status) {
    if (!rows) return status;
    hu_status st = hu_job_progress_end(&rows->progress, status);
    hu_job_progress_close(&rows->progress);
    hu_jobs_free(rows->job, rows->count);
    hu_free(rows->job);
    if (rows->lock >= 0) close(rows->lock);
    hu_free(rows);
    return st;
}
