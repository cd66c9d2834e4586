/* session/check_run.h - what a run that begins with init=check tells of its steps, so that it can
 * be compared with another program's: the loss of each step and the gradient of the first. */
#ifndef HU_SESSION_CHECK_RUN_H
#define HU_SESSION_CHECK_RUN_H
#include "config/config.h"
#include "render/json.h"
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

/* Behind a step, before the next. HU_ERR_MEMORY. */
hu_status hu_check_run_note(hu_check_run *run, const hu_trainer *trainer,
                            const hu_step_report *report);

/* Adds losses (of steps with turns one list for each by its name), first_gradient_norm and, if
 * asked for, first_gradient_norms. */
void hu_check_run_put(const hu_check_run *run, json_t *object);

#endif
