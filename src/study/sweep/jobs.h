/* sweep/jobs.h - trainings in processes of their own: begun, gone on with, or read if they are
 * finished. What compare and assign are made of. */
#ifndef HU_SWEEP_JOBS_H
#define HU_SWEEP_JOBS_H
#include <signal.h>
#include <stdbool.h>

#include "base/keys.h"
#include "config/config.h"
#include "sweep/job_folder.h"
#include "sweep/job_progress.h"

/* What all jobs of a command share. Borrowed: valid as long as the caller's own. */
typedef struct hu_jobs {
    const char *directory; /* where common.yaml is kept; exists */
    const hu_keys *common; /* keys of all jobs */
    int threads;           /* of each process */
    int parallel;          /* processes at once */
    bool is_quiet;
    hu_job_progress *progress;                /* never NULL while jobs run */
    const volatile sig_atomic_t *interrupted; /* NULL: not watched */

    /* Called after every job that ended, may be NULL. */
    hu_status (*after)(void *context);
    void *context;
} hu_jobs;

/* Finds out about every job: new, stopped or done. A folder whose configuration is not the job's:
 * HU_ERR_ARGUMENT that names the key. */
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

/* run.dir, or runs/ and run.name, or a name made of the common keys, so that the same command finds
 * its folder again. */
hu_status hu_jobs_directory(const hu_config *config, const hu_keys *common, const char *verb,
                            char *directory, size_t capacity);

/* Threads, processes at once and quiet; the caller sets interrupted. directory and common are
 * borrowed. */
hu_status hu_jobs_options(const hu_config *config, const char *directory, const hu_keys *common,
                          hu_jobs *jobs);

#endif
