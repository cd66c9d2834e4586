/* session/opening.h - what is said of a training before its first step. */
#ifndef HU_SESSION_OPENING_H
#define HU_SESSION_OPENING_H
#include "config/config.h"
#include "session/listener.h"
#include "show/json.h"

/* A training that is about to begin or to go on. All borrowed. */
typedef struct hu_opening {
    const hu_config *config; /* resolved */
    const hu_dataset *dataset;
    const hu_train_options *options;
    const hu_trainer *trainer;
    const char *folder; /* of the run */
} hu_opening;

/* The facts of the event "start" (docs/run-folder.md). New reference, NULL if out of memory. */
json_t *hu_opening_json(const hu_opening *opening);

/* Notes and warnings about what was chosen: a width that many others beside it are alike to;
 * gradients in formats of at most 8 bits that nothing scales, unless scaler=none was asked for; and
 * a training whose steps all have a learning rate of 0. */
void hu_opening_warn(const hu_opening *opening, const hu_listener *listener);

#endif
