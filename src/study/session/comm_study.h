/* session/comm_study.h - questions about the network between nodes, answered from a configuration.
 */
#ifndef HU_SESSION_COMM_STUDY_H
#define HU_SESSION_COMM_STUDY_H
#include "comm/cost_model.h"
#include "comm/gradient_study.h"
#include "config/config.h"
#include "graph/graph.h"
#include "session/saved_run.h"
#include <signal.h>

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

/* ---- What a configuration asks about the network between nodes ---- */

typedef struct hu_advice_request {
    hu_comm_question question; /* Borrows the next two */
    hu_comm_layer *layer;      /* owned, as the choices */
    hu_comm_choice *choice;
    int64_t parameters;
} hu_advice_request;

/* Keys cluster.*, comm.scaling (aps where it is left open), comm.bucket, comm.exact, comm.workers
 * (the nodes once more) and comm.format or bench.format (the word format=: formats beside fp32 and
 * fp16, one or several; e5m2 and e4m3 where they are left open), for the parameters
 * of a graph, whose names are borrowed. Measures what the formats cost a processor, once for each
 * width: of formats of the same bits none is faster by chance. Owner frees. */
hu_status hu_advice_read(hu_config *config, const hu_graph *graph, hu_advice_request *request);
void hu_advice_request_free(hu_advice_request *request);

/* ---- study ---- */

/* The reductions that a configuration asks for: lists of schedules, formats and
 * scalings, each with each. */

/* A study, and the run whose gradients it is given (comm.run), if any. */
typedef struct hu_comm_study {
    hu_gradient_study study;
    hu_saved_gradients run;
    char origin[256];
} hu_comm_study;

/* Keys comm.*, cluster.link, cluster.latency, bench.elements, bench.format (the word format=),
 * data.name, run.seed, run.repeat (seeds), run.steps (reductions) and run.threads, which the study
 * does not read. stop: ends what takes long when it is set, or NULL; borrowed. Owner closes. */
hu_status hu_comm_study_open(hu_config *config, const hu_listener *listener,
                             const volatile sig_atomic_t *stop, hu_comm_study *study);
void hu_comm_study_close(hu_comm_study *study);

/* What a study that has been run left out, one message for each reason. */
void hu_comm_study_tell_skipped(const hu_gradient_study *study, const hu_listener *listener);

#endif
