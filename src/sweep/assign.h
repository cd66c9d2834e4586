/* sweep/assign.h - the search for an assignment: candidates, trainings of growing length, the
 * choice.
 */
#ifndef HU_SWEEP_ASSIGN_H
#define HU_SWEEP_ASSIGN_H
#include "config/config.h"
#include "journal/result.h"
#include "precision/search.h"
#include "session/listener.h"
#include "sweep/jobs.h"

enum { HU_ASSIGN_RUNGS = 6 };

/* A set of low groups. */
typedef struct hu_assign_candidate {
    char name[24], path[640]; /* of its plan file */
    hu_search_order order;
    uint64_t seed;
    bool is_trimmed;
    bool is_plain; /* plain demotion: stays in the race, so that the result never loses to it */
    bool *low;     /* [groups] */
    uint32_t groups_low;
    int64_t bits; /* model aggregate as planned */

    int rungs;                         /* trained so far */
    double value[HU_ASSIGN_RUNGS];     /* mean over the seeds of the rung; NaN: diverged */
    double least, most;                /* over the seeds of the last rung */
    double bits_used[HU_ASSIGN_RUNGS]; /* at the end, promotions included */
} hu_assign_candidate;

/* One search, from its command to its report. verb_assign.c makes and frees it. */
typedef struct hu_assign {
    hu_config *config;
    hu_jobs jobs;
    hu_keys *seeds, *common;
    char directory[512];
    bool is_memory;
    double budget; /* share of float32's bits; or (<= 0) by how much the metric, as it is printed,
                      may be worse than float32's */
    const hu_metric *metric; /* the task's first; all values below are of it */
    int rungs;
    int64_t random_orders;

    hu_precision precision; /* of kind "high": the two candidate formats */
    hu_graph *graph;
    int64_t batch, steps;
    hu_search_groups groups;
    bool knows_loss; /* the float32 run left histograms */

    double reference[HU_ASSIGN_RUNGS]; /* value of float32 by rung; NaN: not trained */
    double high_value, high_bits;      /* everything high, full length */
    hu_assign_candidate *candidate;
    uint32_t count, capacity;
    int trainings;
} hu_assign;

/* Reads budget, seeds, rungs and the training into a search of which config is set, and makes its
 * folders. The caller sets jobs.interrupted. Errors say what is wrong with the command. Owner frees
 * with hu_assign_free, after a failure too. */
hu_status hu_assign_read(hu_assign *assign, const hu_listener *listener);
void hu_assign_free(hu_assign *assign);

/* All steps of the search, below; best as of hu_assign_race. */
hu_status hu_assign_search(hu_assign *assign, int *best);

/* Steps of a rung: half of the next one's, the last is the whole training. */
int64_t hu_assign_steps(const hu_assign *assign, int rung);

/* Share of float32's bits. */
double hu_assign_share(const hu_assign *assign, double bits);

/* Trains float32 (all rungs that the budget needs) and everything high. */
hu_status hu_assign_train_references(hu_assign *assign);

/* Loss of every group under the low formats, from the histograms of the float32 run. Gradients are
 * taken with the largest loss scale under which none of them overflows the low format. */
hu_status hu_assign_measure_loss(hu_assign *assign);

/* HU_ERR_ARGUMENT: a memory that no set of groups meets; the message has the minimum. */
hu_status hu_assign_check_budget(const hu_assign *assign);

/* Candidates for the budget, each with its plan file. */
hu_status hu_assign_make_candidates(hu_assign *assign);

/* Does everything high meet the budget? Known after the references. */
bool hu_assign_high_fits(const hu_assign *assign);

/* Successive halving. best: index of the chosen candidate, -1: everything high is chosen. */
hu_status hu_assign_race(hu_assign *assign, int *best);

/* Writes a candidate as a plan file; evidence lines (may be NULL) are written beneath. */
hu_status hu_assign_write_plan(const hu_assign *assign, const hu_assign_candidate *candidate,
                               const char *path, const char *evidence);

/* Writes the resolved plan of a training with a plan file. */
hu_status hu_assign_write_resolved(const hu_assign *assign, const char *plan_path,
                                   const char *path);

/* DIR/plan.yaml with its evidence, DIR/plan.resolved.yaml and assign.json; what a person reads.
 * Owner frees text. */
hu_status hu_assign_report(const hu_assign *assign, int best, json_t **object, char **text);

#endif
