/* sweep/job_folder.h - one training in a process of its own, and the folder that it leaves. */
#ifndef HU_SWEEP_JOB_FOLDER_H
#define HU_SWEEP_JOB_FOLDER_H
#include <sys/types.h>

#include "base/keys.h"
#include "render/json.h"

/* Where a job stands. NEW, STOPPED and DONE are read from its folder, so that a command
 * that is given again goes on. */
typedef enum hu_job_state {
    HU_JOB_NEW,
    HU_JOB_STOPPED, /* its folder holds a training that did not end */
    HU_JOB_RUNNING,
    HU_JOB_DONE, /* result says how it ended, diverged or not */
    HU_JOB_FAILED
} hu_job_state;

enum { HU_JOB_WORDS = 16, HU_JOB_WORD_BYTES = 640 };

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
