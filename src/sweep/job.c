#include "sweep/job.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

hu_status hu_job_word(hu_job *job, const char *key, const char *value) {
    if (job->words == HU_JOB_WORDS || strlen(key) + strlen(value) + 2 > HU_JOB_WORD_BYTES)
        return hu_fail(HU_ERR_LIMIT, "%s: found '%.100s' of %zu bytes, expected less", key, value,
                       strlen(value));
    snprintf(job->word[job->words++], HU_JOB_WORD_BYTES, "%s=%s", key, value);
    return HU_OK;
}
