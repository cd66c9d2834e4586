/* session/session.h - one training run with its folder: progress lines, metrics, checkpoints,
 * evaluation. */
#ifndef HU_SESSION_SESSION_H
#define HU_SESSION_SESSION_H
#include <signal.h>

#include "config/config.h"
#include "model/model.h"
#include "render/json.h"
#include "runlog/folder.h"
#include "runlog/result.h"
#include "session/evaluation.h"
#include "session/processes.h"
#include "settings/messages.h"
#include "settings/saved_data.h"
#include "train/trainer.h"

typedef struct hu_check_run {
    bool is_on, wants_norms;
    int64_t count, room; /* of losses */
    double *loss;        /* of each turn of each step of this process, before its update */
    int phases;          /* of a step */
    const char *name[HU_PHASES_MOST]; /* of the turns. Borrowed: as long as the trainer */
    double norm;                      /* of the whole gradient in step 0; NaN without that step */
    json_t *norms; /* of each parameter's gradient in step 0, by name; NULL without */
} hu_check_run;

/* Whether model.init asks for it, and run.norms for norms. A run that begins elsewhere notes
 * nothing. */
hu_status hu_check_run_open(const hu_config *config, hu_check_run *run);
void hu_check_run_close(hu_check_run *run);

/* After a step, before the next. HU_ERR_MEMORY. */
hu_status hu_check_run_note(hu_check_run *run, const hu_trainer *trainer,
                            const hu_step_report *report);

typedef struct hu_session {
    hu_config *config;           /* borrowed */
    const hu_dataset *dataset;   /* borrowed */
    const hu_listener *listener; /* borrowed; NULL: nobody listens */
    hu_processes *processes;     /* borrowed; NULL: this process trains alone */
    bool leads;                  /* it writes the folder; where there are peers, one does */
    hu_precision precision;
    hu_trainer *trainer;
    hu_run_folder folder;
    hu_ledger before;         /* what the allocator counted before the trainer was made */
    int64_t steps;            /* of the whole training */
    bool is_best;             /* the latest evaluation is the best so far */
    hu_split_kind evaluation; /* the samples that the training is followed on */
    bool ends_with_test;      /* the test samples are read beside them, once, at the end */
    int64_t eval_every;       /* epochs; 0: only at the end */
    int64_t checkpoint_every, log_every;
    int64_t start_step;
    double train_seconds;   /* inside steps of this process */
    double ended_test_loss; /* by result.json of a run that had ended; NaN */
    int64_t train_samples;
    const volatile sig_atomic_t *interrupted; /* NULL: not watched */
    hu_check_run check;                       /* what is told of its steps */
    hu_baseline baseline;                     /* measured when the training has ended */
    hu_messages messages;                     /* what is said of it */
    hu_changed_data data;                     /* as it is found now */
    bool wants_stop; /* after the latest step: some process of the training was asked to end */
} hu_session;

/* What a finished (or diverged) run is reported as; NaN where there was no step or no evaluation.
 */
typedef struct hu_session_result {
    double train_loss;
    hu_result_metric test;       /* the task's first metric on the test samples */
    double test_loss;            /* of the last evaluation on them, as training sums it */
    hu_result_metric validation; /* on those held out */
    double images_per_second;    /* of this process: samples, whatever they are */
    double rate;                 /* the same in what is counted: "images", "tokens" */
    const char *counted;         /* Borrowed: valid forever */
    bool has_diverged;
    bool is_early;     /* it has ended before its last step, as evaluations got no better */
    char reason[1024]; /* of the divergence */
    char collapse[HU_COLLAPSE_BYTES]; /* why the run is said to have collapsed; "": it has not */
} hu_session_result;

/* Resolves the configuration, plans the training, makes the run folder (directory NULL: a new one
 * below runs/), checks the ledger and tells the listener what is about to be trained. resume: the
 * folder exists; its newest checkpoint is loaded, or the run starts anew if it was stopped before
 * the first. own: NULL, or the network that is trained in place of the model of the configuration;
 * borrowed: needed for the call. peers: NULL, or the other processes of the training; those that do
 * not lead read the folder alone. */
hu_status hu_session_open(hu_config *config, const hu_dataset *dataset, const hu_custom_net *own,
                          const char *directory, bool resume, const hu_listener *listener,
                          hu_processes *processes, hu_session *session);
void hu_session_close(hu_session *session);

/* Where all that is left of a training is done by hu_session_run, somebody else may do it step by
 * step: begin, step until it is over or has diverged, end. begin evaluates a training of no steps.
 * stop saves the state and is HU_ERR_INTERRUPTED. end: status is how the steps ended; what they
 * came to is read and told, and a failure is told as it is. */
hu_status hu_session_begin(hu_session *session, hu_session_result *result);
hu_status hu_session_step(hu_session *session, hu_session_result *result, hu_step_report *report);
hu_status hu_session_stop(hu_session *session);
hu_status hu_session_end(hu_session *session, hu_status status, hu_session_result *result);

/* Trains to the end. Divergence is not a failure here: result says so. HU_ERR_INTERRUPTED after a
 * checkpoint. */
hu_status hu_session_run(hu_session *session, hu_session_result *result);

/* Whether it has done its steps, or has lost its patience; and whether it is evaluated after the
 * latest step: at the end of an epoch that eval.every names, and of the training. */
bool hu_session_is_over(const hu_session *session);

/* What is in trouble so far; nothing in a process that does not write the folder. */
hu_trouble hu_session_trouble(const hu_session *session);

/* The verb that a person may want next: "why" of a training that diverged, collapsed or has
 * tensors or sums in trouble, else "predict". Borrowed: valid forever. */
const char *hu_session_next(const hu_session *session, const hu_session_result *result);

/* The JSON object of `train --json`. New reference; NULL if out of memory. */
json_t *hu_session_json(const hu_session *session, const hu_session_result *result);

/* Writes that object to result.json of the run's folder, which says that the run has ended. */
hu_status hu_session_write_result(const hu_session *session, const hu_session_result *result);

/* ---- What the result of a training says of a schedule of bits ---- */

enum { HU_BITS_TEXT_BYTES = 320 };

/* The same in few words, without the end of the line; "" where there is no schedule. Gives text. */
const char *hu_bits_result_text(const hu_trainer *trainer, char text[HU_BITS_TEXT_BYTES]);

/* ---- What the result of a training says of its workers ---- */

enum { HU_WIRE_TEXT_BYTES = 320 };

/* The same in one line, without its end; "" where nothing travels. Gives text. */
const char *hu_wire_result_text(const hu_config *config, const hu_trainer *trainer,
                                char text[HU_WIRE_TEXT_BYTES]);

#endif
