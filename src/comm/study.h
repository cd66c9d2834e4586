/* comm/study.h - reductions of one kind of gradient, drawn or given, in many formats and schedules:
 * errors, traffic and predicted time of each.
 */
#ifndef HU_COMM_STUDY_H
#define HU_COMM_STUDY_H
#include <signal.h>

#include "comm/error.h"
#include "comm/predict.h"
#include "comm/synthetic.h"
#include "comm/team.h"

typedef struct hu_comm_outcome {
    hu_comm_time time;
    hu_comm_error error;        /* medians over the seeds; counts: of all together */
    double eq5_least, eq5_most; /* of the seeds' mean errors */
    uint64_t hash;              /* XXH64 of the bits of all results, seed by seed */
    double flush_workers;       /* hu_comm_flush_workers */
    hu_comm_error *layer;       /* [layers] of given gradients, with the first seed. Owned */
} hu_comm_outcome;

/* One kind of reduction, and what came of it. */
enum { HU_COMM_MISFIT_BYTES = 256, HU_COMM_PAIR_BYTES = 96 };
typedef struct hu_comm_case {
    hu_comm_options options; /* workers, seed and buckets are the study's */
    hu_comm_outcome outcome;
    char misfit[HU_COMM_MISFIT_BYTES]; /* why schedule and scaling cannot have each other; "": they
                                          can */
} hu_comm_case;

/* Gradients that are there already. All borrowed. */
typedef struct hu_comm_given {
    float *const *gradient; /* [workers] arrays in which the layers have their offsets; NULL: they
                               are drawn */
    const hu_comm_layer *layer; /* [layers] */
    int32_t layers;
    int64_t bucket_bytes; /* as in hu_comm_options */
    const char *origin;   /* for people: "step 40 of runs/a" */
} hu_comm_given;

typedef struct hu_comm_study {
    hu_comm_synthetic gradient; /* with the first seed. Of given ones: workers, elements and seed of
                                   the rounding */
    hu_comm_given given;
    int32_t seeds;      /* that many, counted up from it */
    int32_t reductions; /* of the same gradients, one step after the other: what error feedback is
                           for. Errors are those of the sum of all results */
    hu_comm_link link;
    int threads;                       /* results do not depend on them */
    const volatile sig_atomic_t *stop; /* ends the study when it is set; NULL: nothing does */

    /* How this process meets the others, as worker `first` alone. NULL: all workers are in this
     * process. */
    hu_status (*join)(void *context, const hu_comm_plan *plan, float *const *gradient,
                      hu_team **team);
    void *context;
    int32_t first;

    hu_comm_case *cases; /* [count + skipped], owned: those that were run, then misfits */
    int32_t count;
    int32_t skipped; /* pairs of schedule and scaling, each once, whatever the format; 0 at first */
} hu_comm_study;

/* Fills the outcomes, in every process the same. Cases whose schedule and scaling do not fit each
 * other are put behind the others and are not run; HU_ERR_ARGUMENT where no case fits. Other errors
 * as hu_comm_plan_create and hu_team_reduce; HU_ERR_INTERRUPTED. */
hu_status hu_comm_study_run(hu_comm_study *study);

/* "ring with aps2", "halving with aps and kahan": what may not fit. Room for HU_COMM_PAIR_BYTES. */
void hu_comm_pair_print(const hu_comm_options *options, char *text);

void hu_comm_study_free(hu_comm_study *study);

#endif
