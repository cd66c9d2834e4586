/* session/saved_gradients.h - the gradients of the workers in one step of a run that has a folder.
 */
#ifndef HU_SESSION_SAVED_GRADIENTS_H
#define HU_SESSION_SAVED_GRADIENTS_H
#include <signal.h>

#include "session/saved_run.h"

typedef struct hu_saved_gradients {
    hu_config *config; /* owned: that of the run */
    hu_saved_run run;
    hu_worker_gradients made;
} hu_saved_gradients;

/* What of which run. */
typedef struct hu_gradients_wanted {
    const char *directory;
    int64_t step;      /* -1: the one that follows the newest checkpoint */
    int32_t workers;   /* who share the batch of that step; 0: as many as in the run, or 8 where it
                          had one */
    const char *exact; /* globs of layers that travel in float32. Borrowed while they are open */
    const hu_config *given;            /* its data.name and run.threads win over the run's */
    const volatile sig_atomic_t *stop; /* ends the training when it is set; NULL: nothing does */
} hu_gradients_wanted;

/* Takes the newest checkpoint that is not behind the step, or where there is none the first
 * weights; trains from there to the step as the run did, where that is not the same; then runs the
 * passes of the step with so many workers. The run's folder stays as it is. HU_ERR_ARGUMENT: a step
 * beyond the run's end, more workers than samples; HU_ERR_NONFINITE as hu_trainer_gradients. Owner
 * closes. */
hu_status hu_saved_gradients_open(const hu_gradients_wanted *wanted, const hu_listener *listener,
                                  hu_saved_gradients *gradients);
void hu_saved_gradients_close(hu_saved_gradients *gradients);

#endif
