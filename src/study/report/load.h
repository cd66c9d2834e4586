/* report/load.h - runs loaded for a page, and the exponents of their tensors. */
#ifndef HU_REPORT_LOAD_H
#define HU_REPORT_LOAD_H
#include "runlog/history.h"

typedef struct hu_recorded_tensor {
    hu_history *history;
    const hu_exponents *exponents; /* of the history; NULL: nothing was read */
    char words[700];               /* "conv1.weight.grad of RUN, step 24" */
} hu_recorded_tensor;

/* Reads the last histogram of a tensor at or before a step (-1: of all). HU_ERR_UNKNOWN with the
 * nearest names; HU_ERR_MISSING: the run has no histogram of it up to there. Owner frees. */
hu_status hu_recorded_tensor_read(const char *folder, const char *name, int64_t step,
                                  hu_recorded_tensor *tensor);
void hu_recorded_tensor_free(hu_recorded_tensor *tensor);

#endif
