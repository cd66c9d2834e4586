/* sweep/job_progress.h - the jobs of a command: what is said of them while they run. */
#ifndef HU_SWEEP_JOB_PROGRESS_H
#define HU_SWEEP_JOB_PROGRESS_H
#include <stdbool.h>

#include "runlog/progress.h"
#include "sweep/job_folder.h"

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

/* Seconds that the jobs of a call that have not ended and the rows behind it will take: those that
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

#endif
