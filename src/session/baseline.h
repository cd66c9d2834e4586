/* session/baseline.h - what a task's first metric is worth without a network. */
#ifndef HU_SESSION_BASELINE_H
#define HU_SESSION_BASELINE_H
#include "session/listener.h"
#include "show/json.h"

typedef struct hu_baseline {
    const char *name; /* "bicubic"; NULL: the task has none. Borrowed: valid for ever */
    double value;     /* of the task's first metric */
} hu_baseline;

/* Measures it on a part of the data and tells it: one walk over the samples. Errors are those of
 * reading samples. */
hu_status hu_baseline_measure(const hu_task *task, const hu_dataset *dataset, hu_half half,
                              const hu_listener *listener, hu_baseline *made);

/* Adds "baseline" with name and value; nothing where there is none. */
void hu_baseline_put(const hu_baseline *baseline, json_t *object);

#endif
