/* session/study.h - the reductions that a configuration asks for: lists of schedules, formats and
 * scalings, each with each. */
#ifndef HU_SESSION_STUDY_H
#define HU_SESSION_STUDY_H
#include "comm/gradient_study.h"
#include "config/config.h"
#include "session/saved_gradients.h"

/* A study, and the run whose gradients it is given (comm.run), if any. */
typedef struct hu_study {
    hu_comm_study study;
    hu_saved_gradients run;
    char origin[256];
} hu_study;

/* Keys comm.*, cluster.link, cluster.latency, bench.elements, bench.format (the word format=),
 * data.name, run.seed, run.repeat (seeds), run.steps (reductions) and run.threads, which the study
 * does not read. stop: ends what takes long when it is set, or NULL; borrowed. Owner closes. */
hu_status hu_study_open(hu_config *config, const hu_listener *listener,
                        const volatile sig_atomic_t *stop, hu_study *study);
void hu_study_close(hu_study *study);

/* What a study that has been run left out, one message for each reason. */
void hu_study_tell_skipped(const hu_comm_study *study, const hu_listener *listener);

#endif
