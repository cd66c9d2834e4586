/* session/processes.h - the processes of one training: who leads, and whether they all train the
 * same.
 *
 * Worker 0's process leads: it writes the folder, evaluates and speaks. The others train along.
 */
#ifndef HU_SESSION_PROCESSES_H
#define HU_SESSION_PROCESSES_H
#include "comm/process_group.h"
#include "config/config.h"
#include "train/trainer.h"

typedef struct hu_processes {
    hu_transport *transport; /* NULL: this process trains alone */
    hu_rendezvous *job;
    hu_failure_detector_options wait;
    bool overlap;
    bool is_agreed; /* all processes know how this ends, and end so too */
} hu_processes;

/* Joins the other processes where comm.transport says so (auto: below a launcher that started
 * several), and sets comm.workers to their number if the user left it open. stop: the flag of
 * signals, or NULL. Borrowed. HU_ERR_UNSUPPORTED, HU_ERR_ARGUMENT, HU_ERR_PEER. peers stays where
 * it is until it is closed. */
hu_status hu_processes_open(hu_config *config, const volatile sig_atomic_t *stop,
                            hu_processes *processes);

/* Leaves them. status: how it ended here; where the others do not know of a failure (is_agreed),
 * they are ended too, with the exit code of the status. */
void hu_processes_close(hu_processes *processes, hu_status status);

static inline bool hu_processes_lead(const hu_processes *processes) {
    return !processes || !processes->transport || processes->transport->rank == 0;
}

/* Where all processes tell each other how it went here: the status and words of the first that
 * failed become those of all, who then know it (is_agreed). Alone: own. HU_ERR_PEER where somebody
 * does not come. */
hu_status hu_processes_agree(hu_processes *processes, hu_status own);

/* Seconds that a process has after a SIGTERM of its launcher, less a moment for last words; 0: as
 * long as it likes. */
double hu_processes_grace(const hu_processes *processes);

/* Makes the team of this process; context: the hu_processes. */
hu_status hu_processes_team(void *context, const hu_comm_plan *plan, float *const *gradient,
                            hu_process_group **team);

/* Lets a trainer that is made with comm run the worker of this process. */
void hu_processes_join(const hu_processes *processes, hu_train_comm *comm);

/* Compares the configuration, and unless trainer is NULL the data (by their fingerprint,
 * data/fingerprint.h), the weights and the step, of all processes before the first step:
 * HU_ERR_ARGUMENT names the first difference and who has it, in all of them. */
hu_status hu_processes_compare(hu_processes *processes, const hu_config *config,
                               const hu_trainer *trainer, const char *fingerprint);

/* Compares the weights of all processes after a step: HU_ERR_INTERNAL names who has others than
 * worker 0, in all of them. All must call it. NULL: there are no others. */
hu_status hu_processes_compare_weights(hu_processes *processes, const hu_trainer *trainer);

#endif
