/* sweep/jobs.h - trainings in processes of their own: begun, gone on with, or read if they are
 * finished. What compare and assign are made of. */
#ifndef HU_SWEEP_JOBS_H
#define HU_SWEEP_JOBS_H
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/keys.h"
#include "show/json.h"

typedef enum hu_job_state {
    HU_JOB_NEW,
    HU_JOB_STOPPED, /* its folder holds a training that did not end */
    HU_JOB_RUNNING,
    HU_JOB_DONE, /* result says how it ended, diverged or not */
    HU_JOB_FAILED
} hu_job_state;

enum { HU_JOB_WORDS = 8, HU_JOB_WORD_BYTES = 640 };

typedef struct hu_job {
    char label[256];                            /* for progress lines: "demote:0.6 seed 2" */
    char directory[1024];                       /* of its run */
    char word[HU_JOB_WORDS][HU_JOB_WORD_BYTES]; /* key=value beside the common keys */
    int words;

    hu_job_state state;
    json_t *result;    /* the object of `train --json` of a job that is done, else NULL; owned */
    double seconds;    /* of all processes that worked at it */
    char failure[512]; /* why it failed */
    pid_t pid;
    double started;
} hu_job;

typedef struct hu_jobs {
    const char *directory; /* where common.yaml is kept; exists */
    const hu_keys *common; /* keys of all jobs */
    int threads;           /* of each process */
    int parallel;          /* processes at once */
    bool is_quiet;
    const volatile sig_atomic_t *interrupted; /* NULL: not watched */

    /* Called after every job that ended, may be NULL. */
    hu_status (*after)(void *context);
    void *context;
} hu_jobs;

/* Finds out about every job: new, stopped or done. A folder whose configuration is not the job's:
 * HU_ERR_ARGUMENT that names the key. */
hu_status hu_jobs_look(const hu_jobs *jobs, hu_job *job, int count);

/* Runs all that are not done, in order. A job that ends with a usage or data error ends all:
 * the others fail one by one (HU_JOB_FAILED). HU_ERR_INTERRUPTED after all processes have saved
 * and stopped. */
hu_status hu_jobs_run(const hu_jobs *jobs, hu_job *job, int count);

void hu_jobs_free(hu_job *job, int count);

/* Adds "key=value" to a job's words. */
hu_status hu_job_word(hu_job *job, const char *key, const char *value);

#endif
