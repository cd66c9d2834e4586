/* sweep/retrain.h - a run trained again with advice, and whether that helped. */
#ifndef HU_SWEEP_RETRAIN_H
#define HU_SWEEP_RETRAIN_H
#include "diagnose/remedy.h"

/* What the user asks of the training beside the advice. */
typedef struct hu_try_request {
    int64_t number;      /* of the option, from 1 */
    const char *folder;  /* NULL: RUN-tryN */
    const char *threads; /* "threads=2"; NULL: those of the run */
    const char *seed;    /* "seed=2"; NULL: that of the run */
} hu_try_request;

/* Trains RUN's configuration with the words of the option asked for into the folder asked for,
 * in a process of its own that tells its progress on stderr; then prints what both runs gave, or
 * its JSON. The run itself is only read. repair: NULL where gradients died between workers, for
 * which nothing here trains. HU_ERR_ARGUMENT: that; the run has no steps or did not end, is still
 * going, there is no such option, or the folder is present already. A training that ends with an
 * error ends this with its message; interrupted, it can be resumed. */
hu_status hu_why_try(const hu_diagnosis *x, const hu_remedy *repair, const hu_try_request *request,
                     bool as_json);

/* What advice would cost: candidates of a search, with the memory that each would hold */

/* Plans the run's training as it is and with each option, without its samples, and fills the bytes
 * of advice and options; 0 where the folder does not tell enough to plan. HU_ERR_MEMORY. */
hu_status hu_remedy_price(const char *folder, hu_remedy *advice);

#endif
