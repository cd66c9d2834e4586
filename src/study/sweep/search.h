/* sweep/search.h - the search for an assignment: what groups lose, candidates, trainings of growing
 * length, the choice. Everything is chosen on validation samples; the test samples are read once,
 * for what is written and for plain demotion.
 */
#ifndef HU_SWEEP_SEARCH_H
#define HU_SWEEP_SEARCH_H
#include "base/statistics.h"
#include "config/config.h"
#include "precision/search.h"
#include "runlog/result.h"
#include "session/saved_run.h"
#include "settings/messages.h"
#include "sweep/jobs.h"
#include "train/trainer.h"

enum { HU_ASSIGN_RUNGS = 6, HU_ASSIGN_HIGH = -1, HU_ASSIGN_NONE = -2 };

/* What the budget bounds. */
typedef enum hu_budget_kind {
    HU_BUDGET_METRIC, /* how much worse than float32 */
    HU_BUDGET_MEMORY, /* bits of all tensors: the paper's model aggregate */
    HU_BUDGET_SAVED,  /* bytes that wait for the backward pass */
    HU_BUDGET_TOTAL   /* all bytes of the ledger */
} hu_budget_kind;

/* One precision trained for one length with all seeds. Values are of the validation samples. */
typedef struct hu_assign_outcome {
    bool is_known;
    hu_sample_stats spread; /* of the seeds' values */
    double value;           /* mean over the seeds; NaN: diverged with some */
    double deviation;       /* standard deviation over the seeds; NaN: of one seed there is none */
    double least, most;     /* over the seeds */
    double bits; /* model aggregate at the end, promotions included; mean over the seeds */
    double size; /* what the budget counts, at the end, as a share of float32's: the most over the
                    seeds */
} hu_assign_outcome;

/* A set of low groups. */
typedef struct hu_assign_candidate {
    char name[24], path[640]; /* of its plan file */
    hu_search_order order;
    uint64_t seed;
    bool is_trimmed;
    bool is_plain; /* plain demotion: in the race to its end, so that the choice is held against it
                    */
    bool *low;     /* [groups] */
    uint32_t groups_low;
    int64_t bits;    /* model aggregate as planned */
    double planned;  /* what the budget counts, before promotions, as a share of float32's */
    double expected; /* the same with the promotions that are known beforehand */
    double loss;     /* of its low groups: the error of the gradient */
    int refills;     /* how often promotions have taken from its limit */
    hu_assign_outcome rung[HU_ASSIGN_RUNGS];
} hu_assign_candidate;

/* Short trainings with one group low each, beside one with everything high. */
typedef struct hu_assign_short_runs {
    double share;  /* assign.short: of a whole training for each seed, all steps together */
    int64_t steps; /* of each; 0: none were made */
    int runs;      /* with all seeds */
    double *cost;  /* [groups] validation loss above everything high's, mean over the seeds; NaN: a
                      training diverged */
    double noise;  /* standard error of a cost; NaN: not known */
} hu_assign_short_runs;

/* How the search ended. */
typedef struct hu_assign_choice {
    int best;   /* a candidate, or HU_ASSIGN_HIGH */
    int plain;  /* plain demotion that best is held against; HU_ASSIGN_NONE: there is none */
    bool meets; /* best keeps the budget; else it is the nearest to it that was trained */
    double gain, noise; /* of best over plain on the validation samples, and its standard error */
    bool is_separated;  /* gain is more than twice the noise; or best is smaller, by bits */
    double test[2], test_deviation[2]; /* of best and of plain, read once; NaN: none */
    int64_t test_samples;
} hu_assign_choice;

/* One search, from its command to its report. verb_assign.c makes and frees it. */
typedef struct hu_assign {
    hu_config *config;
    hu_jobs jobs;
    hu_job_progress progress; /* of its trainings */
    hu_keys *seeds, *common;
    char directory[512];
    hu_budget_kind kind;
    double budget; /* share of float32's; or (<= 0) by how much the metric, as it is printed, may be
                      worse than float32's */
    const hu_metric *metric; /* the task's first; all values below are of it */
    int rungs, first_rung;   /* shorter ones are left out: float32 has not learned anything there */
    int64_t random_orders;

    hu_dataset *dataset;
    hu_precision precision; /* of kind "high": the two candidate formats */
    hu_graph *graph;
    int64_t batch, steps;
    hu_search_groups groups;
    double scale;       /* loss scale under which the gradients were compared */
    double *cosine;     /* [groups] between the update with the group low and float32's, mean */
    double high_cosine; /* the same of everything high */
    hu_assign_short_runs short_runs;
    double plain_size; /* float32's of what the budget counts */

    hu_assign_outcome untrained, reference[HU_ASSIGN_RUNGS]; /* float32 */
    hu_assign_outcome high;                                  /* everything high, full length */
    double deviation[HU_ASSIGN_RUNGS]; /* over seeds, of all precisions together; NaN: unknown */
    hu_assign_candidate *candidate;
    uint32_t count, capacity;
    int trainings;
} hu_assign;

/* ---- The search, its budget and sizes: search.c ---- */

/* Reads budget, seeds, rungs and the training into a search of which config is set, and makes its
 * folders. The caller sets jobs.interrupted. Errors say what is wrong with the command. Owner frees
 * with hu_assign_free, after a failure too. */
hu_status hu_assign_read(hu_assign *assign, const hu_listener *listener);
void hu_assign_free(hu_assign *assign);

/* All steps of the search, below. */
hu_status hu_assign_search(hu_assign *assign, hu_assign_choice *choice);

/* "memory", "saved", "total" or the metric's name. */
const char *hu_budget_name(const hu_assign *assign);

/* What the budget counts, in words: "bits of all tensors". */
const char *hu_budget_words(const hu_assign *assign);

/* Share of float32's bits. */
double hu_assign_share(const hu_assign *assign, double bits);

/* What the budget counts of a training that is done, of result.json; a share of float32's. */
double hu_assign_size_of(const hu_assign *assign, const json_t *result);

/* The same as a plan has it, before the first step, or with the promotions that are expected. low
 * NULL: float32 itself, in bits or bytes. */
hu_status hu_assign_plan_size(const hu_assign *assign, const bool *low, bool promotes,
                              double *size);

/* By how much a value is better than another, in the printed unit; below 0: worse. */
double hu_assign_gain(const hu_assign *assign, double value, double other);

/* Are this value and this size within the budget, at a rung? */
bool hu_assign_fits(const hu_assign *assign, int rung, const hu_assign_outcome *made);

/* ---- Trainings that grow longer for fewer and fewer candidates: successive_halving.c ---- */

/* Steps of a rung: half of the next one's, the last is the whole training. */
int64_t hu_assign_steps(const hu_assign *assign, int rung);

/* Folder of a training with seed number s. */
void hu_assign_folder(const hu_assign *assign, const char *name, int rung, size_t s, char *folder,
                      size_t capacity);

/* Trains float32 for all rungs and everything high, and finds the first rung on which float32 has
 * learned anything. HU_ERR_NONFINITE: float32 diverged. */
hu_status hu_assign_train_references(hu_assign *assign);

/* Trains candidates in rungs; who is worse than another beyond the noise leaves. */
hu_status hu_assign_race(hu_assign *assign, hu_assign_choice *choice);

/* Does everything high meet the budget? Known after the references. */
bool hu_assign_high_fits(const hu_assign *assign);

/* Reads the test samples once: of what was chosen and of plain demotion, for each seed. */
hu_status hu_assign_read_test(const hu_assign *assign, hu_assign_choice *choice);

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

/* ---- What every group loses, and noise: sensitivity.c ---- */

/* Standard deviation over the seeds that trainings of a rung have in common: pooled over the
 * references and all candidates; NaN with a single seed. */
void hu_assign_pool(hu_assign *assign, int rung);

/* The same of the difference of two. */
double hu_assign_noise_of_two(const hu_assign *assign, int rung, const hu_assign_outcome *a,
                              const hu_assign_outcome *b);

/* ---- Candidates and short runs: candidates.c ---- */

/* groups.trained: the validation loss that trainings of a few steps with one group low have above
 * the same steps with everything high, mean over the seeds; 0 where it is not above twice the noise
 * of all groups. They go on where float32 ended, with its optimizer state, over the same batches,
 * promotions included; assign.short bounds their steps together. What was measured is kept in
 * DIR/short-runs.json. HU_ERR_INTERRUPTED: the same command goes on. */
hu_status hu_assign_measure_short_runs(hu_assign *assign);

/* Candidates for the budget, each with its plan file. */
hu_status hu_assign_make_candidates(hu_assign *assign);

/* Another one in the order of candidate i, to a limit that is smaller by what promotions took
 * beyond what was expected of them, or larger by what they took less. *added false: it is present
 * already, or nothing can be smaller.
 */
hu_status hu_assign_refill(hu_assign *assign, uint32_t i, int rung, bool *added);

/* ---- Plans, files and words: search_report.c ---- */

/* Writes low groups (NULL: none) as a plan file; evidence lines (may be NULL) are written beneath.
 */
hu_status hu_assign_write_plan(const hu_assign *assign, const bool *low, const char *path,
                               const char *evidence);

/* The search's own configuration with a plan; its training. Owner frees. */
hu_status hu_assign_config(const hu_assign *assign, const char *plan_path, hu_config **config);

/* DIR/plan.yaml with its evidence, DIR/plan.resolved.yaml and assign.json; what a person reads.
 * Owner frees text. */
hu_status hu_assign_report(const hu_assign *assign, const hu_assign_choice *choice, json_t **object,
                           char **text);

#endif
