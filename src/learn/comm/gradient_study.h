/* comm/gradient_study.h - errors of reductions, measured on gradients that are drawn or recorded.
 */
#ifndef HU_COMM_GRADIENT_STUDY_H
#define HU_COMM_GRADIENT_STUDY_H
#include <signal.h>
#include <stdint.h>

#include <halfulp/status.h>

#include "comm/cost_model.h"
#include "comm/process_group.h"

/* ---- synthetic ---- */

/* Gradients of many workers drawn from a model, to study reductions with.
 *
 *   s[i]    = e^(sigma N)              lognormal size of element i, the same for all workers
 *   mean[i] = rho s[i] N               what the workers agree upon
 *   g[w][i] = (mean[i] + s[i] N) / p   gradient of worker w of p, whose sum is the mean gradient
 *
 * all times a magnitude: real gradients are far smaller than 1. N are independent standard normal
 * numbers. rho is what a gradient tells of the mean: small batches have a small one. The bits
 * depend on the model alone, not on machine or thread.
 */

typedef struct hu_synthetic_gradient {
    int64_t elements;
    int32_t workers;
    double rho, sigma;
    double magnitude; /* a power of two changes no digit of a gradient */
    uint64_t seed;
} hu_synthetic_gradient;

/* What all workers share: size[elements], mean[elements]. */
void hu_synthetic_gradient_shared(const hu_synthetic_gradient *model, float *size, float *mean);

/* gradient[elements] of one worker, from what all share. */
void hu_synthetic_gradient_worker(const hu_synthetic_gradient *model, const float *size,
                                  const float *mean, int32_t worker, float *gradient);

/* ---- How far a reduced gradient is from the exact sum ---- */

/* h: exact sums, l: what the reduction gave. Errors are fractions; infinite where an l is not
 * finite. */
typedef struct hu_gradient_error {
    double eq5_mean;    /* mean of |h - l| / |h| over the elements with h != 0. Source: APS paper,
                           Eq. 5. Few elements with h near 0 decide it; the next two are steadier */
    double median;      /* of the same quotients */
    double relative_l2; /* |h - l| / |h| of the whole vectors */
    double zeros;       /* share of the elements with h != 0 for which l = 0 */
    int64_t excluded;   /* elements with h = 0 */
    int64_t nonfinite;  /* elements whose l is an infinity or NaN */
} hu_gradient_error;

/* exact[n], sum[n]; all errors are 0 where every h is 0. HU_ERR_MEMORY. */
hu_status hu_gradient_error_of(int64_t n, const double *exact, const double *sum,
                               hu_gradient_error *error);

/* Median of x[n], which is put in order; 0 for n = 0. */
double hu_comm_median(int64_t n, double *x);

/* ---- study ---- */

/* Reductions of one kind of gradient, drawn or given, in many formats and schedules:
 * errors, traffic and predicted time of each.
 */

typedef struct hu_gradient_study_outcome {
    hu_comm_time time;
    hu_gradient_error error;    /* medians over the seeds; counts: of all together */
    double eq5_least, eq5_most; /* of the seeds' mean errors */
    uint64_t hash;              /* XXH64 of the bits of all results, seed by seed */
    double flush_workers;       /* hu_comm_flush_workers */
    hu_gradient_error *layer;   /* [layers] of given gradients, with the first seed. Owned */
} hu_gradient_study_outcome;

/* One kind of reduction, and what came of it. */
enum { HU_COMM_MISFIT_BYTES = 256, HU_COMM_PAIR_BYTES = 96 };
typedef struct hu_gradient_study_case {
    hu_comm_options options; /* workers, seed and buckets are the study's */
    hu_gradient_study_outcome outcome;
    char misfit[HU_COMM_MISFIT_BYTES]; /* why schedule and scaling cannot have each other; "": they
                                          can */
} hu_gradient_study_case;

/* Gradients that are present already. All borrowed. */
typedef struct hu_gradient_study_given {
    float *const *gradient; /* [workers] arrays in which the layers have their offsets; NULL: they
                               are drawn */
    const hu_comm_layer *layer; /* [layers] */
    int32_t layers;
    int64_t bucket_bytes; /* as in hu_comm_options */
    const char *origin;   /* for people: "step 40 of runs/a" */
} hu_gradient_study_given;

typedef struct hu_gradient_study {
    hu_synthetic_gradient gradient; /* with the first seed. Of given ones: workers, elements and
                                   seed of the rounding */
    hu_gradient_study_given given;
    int32_t seeds;      /* that many, counted up from it */
    int32_t reductions; /* of the same gradients, one step after the other: what error feedback is
                           for. Errors are those of the sum of all results */
    hu_comm_link link;
    int threads;                       /* results do not depend on them */
    const volatile sig_atomic_t *stop; /* ends the study when it is set; NULL: nothing does */

    /* How this process meets the others, as worker `first` alone. NULL: all workers are in this
     * process. */
    hu_status (*join)(void *context, const hu_comm_plan *plan, float *const *gradient,
                      hu_process_group **team);
    void *context;
    int32_t first;

    hu_gradient_study_case *cases; /* [count + skipped], owned: those that were run, then misfits */
    int32_t count;
    int32_t skipped; /* pairs of schedule and scaling, each once, whatever the format; 0 at first */
} hu_gradient_study;

/* Fills the outcomes, in every process the same. Cases whose schedule and scaling do not fit each
 * other are put after the others and are not run; HU_ERR_ARGUMENT where no case fits. Other errors
 * as hu_comm_plan_create and hu_process_group_reduce; HU_ERR_INTERRUPTED. */
hu_status hu_gradient_study_run(hu_gradient_study *study);

/* "ring with aps2", "halving with aps and kahan": what may not fit. Room for HU_COMM_PAIR_BYTES. */
void hu_comm_pair_print(const hu_comm_options *options, char *text);

void hu_gradient_study_free(hu_gradient_study *study);

#endif
