/* diagnose/run_record.h - a run folder opened to be explained: its records, and formats to try. */
#ifndef HU_EXPLAIN_RUN_RECORD_H
#define HU_EXPLAIN_RUN_RECORD_H
#include <halfulp/format.h>

#include "base/keys.h"
#include "diagnose/accumulators.h"
#include "diagnose/why.h"
#include "graph/tensor_order.h"
#include "precision/rules.h"
#include "runlog/history.h"

/* ---- The formats that stats and why try on the histograms of a run ---- */

enum { HU_CANDIDATES_MOST = 32, HU_CANDIDATE_BYTES = 80 };

typedef struct hu_candidates {
    char name[HU_CANDIDATES_MOST][HU_CANDIDATE_BYTES]; /* as they were given */
    hu_format format[HU_CANDIDATES_MOST];
    int count;
} hu_candidates;

/* ---- opened ---- */

/* A run folder opened to be explained: its records, its graph, the formats that
 * are tried on its histograms. */

typedef struct hu_run_record {
    const char *folder; /* borrowed */
    hu_history *history;
    hu_graph *graph;
    hu_tensor_order walk;
    hu_candidates candidates;
    hu_adders adders; /* of the configuration: none where it cannot be read */
    hu_keys *config;  /* resolved; NULL: the folder has none that can be read */
} hu_run_record;

/* Reads the folder. formats: as for hu_candidates_parse. Errors of hu_history_read_bounded,
 * hu_graph_read and hu_candidates_parse. Owner closes, after a failure too. */
hu_status hu_run_record_read(const char *folder, const char *formats, hu_run_record *run);
void hu_run_record_close(hu_run_record *run);

/* ---- recorded ---- */

/* The numbers of all rounded tensors of a run, as its histograms hold them:
 * what other ways of rounding are tried on. */

/* One histogram of one tensor. */
typedef struct hu_recorded_sample {
    const hu_exponents *numbers; /* borrowed: from the history */
    int32_t scale;               /* log2 of the loss scale in that step; 0 of forward values */
    bool was_skipped;            /* the step's update was left out */
} hu_recorded_sample;

/* A tensor that the run rounds. */
typedef struct hu_recorded_tensor {
    uint32_t place; /* in the walk */
    hu_role role;
    hu_quantizer now; /* in the run's latest record */
    int32_t top;      /* exponent of the largest number in all rows, of a gradient without its loss
                         scale; HU_NO_EXPONENT */
    bool is_small;    /* may vanish without harm: biases */
    uint32_t samples; /* histograms with numbers that are not zero; 0: nothing is told of it */
    uint32_t first;   /* where they begin in hu_recorded.sample */
    uint32_t source;  /* its own number, or where nothing is told that of the tensor it is made of
                         whose numbers stand for it; HU_NONE: of none */
} hu_recorded_tensor;

typedef struct hu_recorded {
    hu_recorded_tensor *tensor; /* [count] in the order of the walk */
    uint32_t count;
    hu_recorded_sample *sample;
    int64_t histograms; /* steps that were looked at */
    bool is_early; /* the run did not come far: its gradients are those of an untrained network */
} hu_recorded;

/* Reads the run: of many histograms, some from the first to the last, or (only_first) what was
 * recorded before anything could go wrong. What workers send each other is not among the tensors,
 * nor is what a loss gives. Owner frees with hu_recorded_free. */
hu_status hu_recorded_create(const hu_run_record *run, const hu_why *why, bool only_first,
                             hu_recorded *recorded);
void hu_recorded_free(hu_recorded *recorded);

static inline bool hu_is_backward(hu_role role) {
    return role == HU_ROLE_ACT_GRAD || role == HU_ROLE_WEIGHT_GRAD;
}

#endif
