/* sweep/successive_halving.h - trainings of a search that grow longer for fewer and fewer
 * candidates. */
#ifndef HU_SWEEP_SUCCESSIVE_HALVING_H
#define HU_SWEEP_SUCCESSIVE_HALVING_H
#include "session/saved_run.h"
#include "sweep/search.h"
#include "train/trainer.h"

typedef struct hu_assign_probe {
    hu_config *config;
    hu_precision precision;
    hu_train_options options; /* to be changed between read and make */
    hu_trainer *trainer;
} hu_assign_probe;

/* Options of the search's training with a plan file (NULL: float32) and seed number s, of so many
 * steps (0: as the command has it); nothing is recorded. Owner closes. */
hu_status hu_assign_probe_read(const hu_assign *assign, const char *plan, size_t s, int64_t steps,
                               hu_assign_probe *probe);

/* Makes the trainer, with the weights that the training begins with. */
hu_status hu_assign_probe_make(const hu_assign *assign, hu_assign_probe *probe);

void hu_assign_probe_close(hu_assign_probe *probe);

/* HU_ERR_INTERRUPTED where the search was asked to end; the same command goes on. */
hu_status hu_assign_check_stop(const hu_assign *assign);

/* The float32 training of full length with seed number s, as it ended. Owner frees both. */
hu_status hu_assign_open_ended(const hu_assign *assign, size_t s, hu_config **config,
                               hu_saved_run *run);

#endif
