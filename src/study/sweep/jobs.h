/* sweep/jobs.h - trainings in processes of their own: begun, gone on with, or read if they are
 * finished. What compare and assign are made of. */
#ifndef HU_SWEEP_JOBS_H
#define HU_SWEEP_JOBS_H
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/keys.h"
#include "config/config.h"
#include "render/json.h"
#include "runlog/progress.h"
#include "settings/messages.h"

/* ---- One training in a process of its own, and the folder that it leaves ---- */

/* Where a job stands. NEW, STOPPED and DONE are read from its folder, so that a command
 * that is given again goes on. */
typedef enum hu_job_state {
    HU_JOB_NEW,
    HU_JOB_STOPPED, /* its folder holds a training that did not end */
    HU_JOB_RUNNING,
    HU_JOB_DONE, /* result says how it ended, diverged or not */
    HU_JOB_FAILED
} hu_job_state;

enum { HU_JOB_WORDS = 40, HU_JOB_WORD_BYTES = 640 };

/* One training in a process of its own. */
typedef struct hu_job {
    char label[256];                            /* for progress lines: "demote:0.6 seed 2" */
    char directory[1024];                       /* of its run */
    char word[HU_JOB_WORDS][HU_JOB_WORD_BYTES]; /* key=value beside the common keys */
    int words;

    hu_job_state state;
    json_t *result;    /* the object of `train --json` of a job that is done, else NULL; owned */
    double seconds;    /* of all processes that worked at it */
    char failure[512]; /* why it failed */
    int exit_code;     /* of a process that failed by itself; 0: it was ended, or never began */
    pid_t pid;
    double started;
} hu_job;

/* Adds "key=value" to a job's words. */
hu_status hu_job_word(hu_job *job, const char *key, const char *value);

/* Latest step in the metrics, counted from 0, and the steps of the whole training; -1: no row says
 * so yet. false: there is no step. */
bool hu_job_folder_step(const hu_job *job, long long *step, long long *steps);

/* ---- What is said of them while they run ---- */

/* How the jobs of a command go. All zero: nothing is written, and each call has rows of its own. */
typedef struct hu_job_progress {
    hu_progress *file; /* of the command's folder; NULL: none */
    bool is_quiet;     /* no lines */
    int parallel;      /* jobs at once */
    int first, rows;   /* how many rows stand before those of a call, of how many; rows 0: the
                          call's own are all */
    int ended;         /* jobs that ended well in this process, of one length, */
    double seconds;    /* and the time of all of them */
    double spoke;      /* when the last line was said */
} hu_job_progress;

/* Opens progress.jsonl of the folder and writes its first row: which verb, on what, how many rows,
 * and how many of them were done before. HU_ERR_IO. */
hu_status hu_job_progress_open(const char *folder, const char *verb, int rows, int done,
                               hu_job_progress *progress);

/* The last row: how the command ended, whose status and words are kept. */
hu_status hu_job_progress_end(hu_job_progress *progress, hu_status status);
void hu_job_progress_close(hu_job_progress *progress);

/* Seconds that the jobs of a call that have not ended and the rows after it will take: those that
 * run as their steps so far foretell, the others as long as those that have ended, or, where none
 * has, as those that run. NaN: nothing tells. */
double hu_job_progress_left(const hu_job_progress *progress, const hu_job *job, int count);

/* A job of a call begins, or has ended: a line and a row. HU_ERR_IO. */
hu_status hu_job_progress_begins(hu_job_progress *progress, const hu_job *job, int count,
                                 int index);
hu_status hu_job_progress_ended(hu_job_progress *progress, const hu_job *job, int count, int index);

/* The line that tells of a job's latest step and of what is left of all, at most one a second on a
 * terminal, and one a minute elsewhere. */
void hu_job_progress_step(hu_job_progress *progress, const hu_job *job, int count, int index);

/* ---- All of them ---- */

/* What all jobs of a command share. Borrowed: valid as long as the caller's own. */
typedef struct hu_jobs {
    const char *directory; /* where common.yaml is kept; exists */
    const hu_keys *common; /* keys of all jobs */
    const char *network;   /* text of the network file of all jobs, NULL: their model is no file, */
    const char *model;     /* and model.name, which names it */
    int threads;           /* of each process */
    int parallel;          /* processes at once */
    bool is_quiet;
    hu_job_progress *progress;                /* never NULL while jobs run */
    const volatile sig_atomic_t *interrupted; /* NULL: not watched */

    /* Called after every job that ended, may be NULL. */
    hu_status (*after)(void *context);
    void *context;
} hu_jobs;

/* Finds out about every job: new, stopped or done. A folder whose configuration or network file is
 * not the job's: HU_ERR_ARGUMENT that names the key, or the file. */
hu_status hu_jobs_read_states(const hu_jobs *jobs, hu_job *job, int count);

/* Runs all that are not done, in order. A job that ends with a usage or data error ends all:
 * the others fail one by one (HU_JOB_FAILED). HU_ERR_INTERRUPTED after all processes have saved
 * and stopped. */
hu_status hu_jobs_run(const hu_jobs *jobs, hu_job *job, int count);

/* Frees what jobs own; the array itself stays the caller's. NULL is allowed. */
void hu_jobs_free(hu_job *job, int count);

/* ---- What compare and assign read of the configuration for their jobs ---- */

/* The seeds that every job is trained with, as a list of texts; owner frees. HU_ERR_ARGUMENT: seed
 * was given, or none; HU_ERR_PARSE: no seed, or one twice. */
hu_status hu_jobs_seeds(const hu_config *config, const char *verb, hu_keys **seeds);

/* What the user gave beside the precision, the seeds and what does not change a training. Owner
 * frees. */
hu_status hu_jobs_common(const hu_config *config, const char *verb, hu_keys **common);

/* run.dir, or runs/ and run.name, or a name made of the common keys and the network file, so that
 * the same command finds its folder again. */
hu_status hu_jobs_directory(hu_config *config, const hu_keys *common, const char *verb,
                            char *directory, size_t capacity);

/* Threads, processes at once, quiet and the network file; the caller sets interrupted. config,
 * directory and common are borrowed. */
hu_status hu_jobs_options(hu_config *config, const char *directory, const hu_keys *common,
                          hu_jobs *jobs);

/* ---- Trainings that run in the command's own process, one after the other ---- */

typedef struct hu_rows hu_rows;

/* Makes the folder, keeps others out of it and begins its progress.jsonl: so many rows of a verb.
 * Owner closes. HU_ERR_IO, also where another process works there; HU_ERR_MEMORY. */
hu_status hu_rows_open(const char *folder, const char *verb, int count, hu_rows **rows);

/* The next row begins, to be trained in a directory: a line and a row of progress.jsonl. Texts are
 * copied. HU_ERR_IO. */
hu_status hu_rows_begin(hu_rows *rows, const char *label, const char *directory);

/* A listener for the training of that row, which hands on to `own` what it hears: live lines tell
 * the time that is left of all rows, lines of epochs both. Rows that have not begun count as long
 * as those that have ended, or else as this one. *made is valid until the next call or the end. */
void hu_rows_listen(hu_rows *rows, const hu_listener *own, hu_listener *made);

/* The row has ended and left its result. HU_ERR_IO. */
hu_status hu_rows_ended(hu_rows *rows);

/* The end of the command, whose status and words are kept, in progress.jsonl; frees. rows NULL:
 * gives the status. */
hu_status hu_rows_close(hu_rows *rows, hu_status status);

#endif
