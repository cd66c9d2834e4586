/* sweep/job_folder.h - what the folder of a job says: new, stopped or done, its result, its time.
 */
#ifndef HU_SWEEP_JOB_FOLDER_H
#define HU_SWEEP_JOB_FOLDER_H
#include "base/keys.h"
#include "sweep/job.h"

/* Fills state, result and seconds from the folder. HU_ERR_ARGUMENT naming the key if its
 * configuration is not the job's, HU_ERR_CORRUPT if the result cannot be read. */
hu_status hu_job_folder_read(const hu_keys *common, hu_job *job);

/* Keeps the seconds for the next process. */
hu_status hu_job_folder_write_seconds(const hu_job *job);

/* The error message that the process left in its log. */
void hu_job_folder_message(const hu_job *job, char *message, size_t capacity);

/* Latest step in the metrics, counted from 0, and the steps of the whole training; -1: no row says
 * so yet. false: there is no step. */
bool hu_job_folder_step(const hu_job *job, long long *step, long long *steps);

#endif
