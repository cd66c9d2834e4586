#include "sweep/rows.h"

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
#include "sweep/jobs.h"

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
