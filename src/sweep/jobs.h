/* sweep/jobs.h - trainings in processes of their own: begun, gone on with, or read if they are
 * finished. What compare and assign are made of. */
#ifndef HU_SWEEP_JOBS_H
#define HU_SWEEP_JOBS_H
#include <signal.h>
#include <stdbool.h>

#include "base/keys.h"
#include "sweep/job.h"
#include "sweep/jobs_talk.h"

/* What all jobs of a command share. Borrowed: valid as long as the caller's own. */
typedef struct hu_jobs {
    const char *directory; /* where common.yaml is kept; exists */
    const hu_keys *common; /* keys of all jobs */
    int threads;           /* of each process */
    int parallel;          /* processes at once */
    bool is_quiet;
    hu_pace *pace;                            /* never NULL while jobs run */
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

#endif
