/* sweep/score.h - how good a number format is: a fixed suite of small trainings, each beside
 * float32's.
 *
 * Score of a training: 100 x (what it gained over guessing) / (what float32 gained with the same
 * seed), and 0 where it gained nothing or diverged. Guessing is the best predictor that never looks
 * at its input (task/guess.h). Score of a network: the mean over the seeds, with the standard error
 * of the mean. Score of a format: the mean over the networks, with the standard error that follows
 * from theirs. Nothing is cut at 100: a format that happens to be ahead of float32 says by how much
 * chance moves the figure.
 */
#ifndef HU_SWEEP_SCORE_H
#define HU_SWEEP_SCORE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/statistics.h"
#include "config/config.h"
#include "render/json.h"
#include "sweep/jobs.h"

/* ---- The suite ---- */

/* Any change of a network, of its data, of how it is trained or of the arithmetic of the score
 * makes a new version: figures of two versions are not comparable. */
enum { HU_SCORE_VERSION = 1, HU_SCORE_NETWORKS = 8 };
#define HU_SCORE_SUITE "halfulp-score"

typedef struct hu_score_network {
    const char *name, *help;
    bool is_quick;
    const char *file;                /* text of its network file; NULL: model is a built-in one */
    const char *model, *task, *data; /* as the keys of train have them */
    int64_t train, test;             /* samples */
    int64_t batch, steps;
    int64_t length, streams; /* of texts; 0: none */
    const char *more;        /* further key=value words with blanks between */
    bool by_metric;          /* the task's first metric is compared, else the test loss */
    int64_t stride;          /* sequences: see task/guess.h */
} hu_score_network;

/* In the order of the tables. */
extern const hu_score_network hu_score_suite[HU_SCORE_NETWORKS];

/* ---- One training ---- */

enum { HU_SCORE_WHY_BYTES = 512 };

/* What is kept of a training, a file of the cache. */
typedef struct hu_score_run {
    bool is_known;
    double value;   /* test loss or metric, NaN: it diverged or is not finite */
    double guess;   /* the same of guessing */
    double bits;    /* of a number, mean over all tensors of the plan and over the steps; scales of
                       blocks are among them */
    double seconds; /* of its process */
    char why[HU_SCORE_WHY_BYTES]; /* what went wrong, "" if nothing was asked */
} hu_score_run;

/* gain of a run over guessing; negative or NaN: none. */
double hu_score_gain(const hu_score_network *network, const hu_score_run *run);

/* 100 x gain / gain of the reference, at least 0. NaN where the reference gained nothing. */
double hu_score_share(const hu_score_network *network, const hu_score_run *run,
                      const hu_score_run *reference);

/* ---- A format ---- */

typedef struct hu_score_part {
    const hu_score_network *network;
    double float32, value, guess; /* means over the seeds; NaN: none is finite */
    double score;                 /* NaN: float32 did not learn */
    double standard_error;        /* NaN with one seed */
    int seeds;
    const char *failure; /* what went wrong first; NULL: nothing. Borrowed: from the runs */
} hu_score_part;

typedef struct hu_score {
    const char *name;
    hu_score_part part[HU_SCORE_NETWORKS];
    int parts;
    double score, standard_error, bits;
    int place, of; /* among the rows of the league and this one; 0: not comparable */
} hu_score;

/* run, reference: [networks][seeds]; network: [networks] of the suite. */
void hu_score_sum_up(const hu_score_network *const *network, int networks, int seeds,
                     const hu_score_run *run, const hu_score_run *reference, hu_score *score);

/* ---- The league: rows that were measured and stand in the program ---- */

typedef struct hu_league_row {
    const char *name;
    double score, standard_error, bits;
} hu_league_row;
extern const hu_league_row hu_league[];
extern const int hu_league_count;

/* True if two names mean the same format: "E4M3FN" and "e4m3fn", "e6m9" and "1/6/9". */
bool hu_score_is_same(const char *name, const char *other);

/* Place of a score among the rows, 1 + how many are higher; a row of the same format does not count
 * twice. *of: how many there are with it. */
int hu_league_place(const char *name, double score, int *of);

/* The rows as a table for people, and as the object of `score --json` without a format. Owner frees
 * *text with hu_free; new reference. */
hu_status hu_league_print(char **text);
hu_status hu_league_json(json_t **object);

/* ---- The cache: a file for each training ---- */

/* All that a training depends on but the seed. The folder may move: the path of a network file is
 * not among it, its text is; of formats and plans of files it is what stands there. */
hu_status hu_score_hash(const hu_score_network *network, const char *precision, const hu_job *job,
                        uint64_t *hash);

/* What is kept of a job, beside its folder; run->is_known stays false where nothing is. A damaged
 * file is set aside, with a note. HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_score_record_read(const hu_job *job, hu_score_run *run);
hu_status hu_score_record_write(const hu_job *job, const char *network, const hu_score_run *run);

/* ---- The command ---- */

typedef struct hu_scores {
    hu_keys *precisions, *seeds, *extra; /* lists of texts; keys beside the precision, a map */
    const hu_score_network *network[HU_SCORE_NETWORKS];
    int networks;
    bool is_quick, is_whole; /* the suite's own parts; its seeds, networks and lengths */
    bool keeps;
    int64_t steps, train, test;      /* in place of the suite's own; -1: those */
    char folder[400];                /* of this version of the suite */
    double guess[HU_SCORE_NETWORKS]; /* NaN: not asked yet */
    hu_score_run *run;               /* [1 + precisions][networks][seeds], float32 first */
    hu_score *score;                 /* [precisions] */
    hu_jobs jobs;
    hu_job_progress progress;
    hu_job *job;         /* of the precision that is trained now */
    hu_score_run **into; /* [jobs] where their results go */
    int *place;          /* [jobs] numbers of their networks */
    int *noted;          /* [jobs] whether they are kept */
    int count;
} hu_scores;

/* Reads the command; nothing is trained. HU_ERR_ARGUMENT, HU_ERR_UNKNOWN, HU_ERR_LIMIT. Owner frees
 * with hu_scores_free, after a failure too. */
hu_status hu_scores_read(const hu_config *config, hu_scores *scores);
void hu_scores_free(hu_scores *scores);

/* Trains what the cache lacks, float32 first, then format by format, and sums up.
 * HU_ERR_INTERRUPTED: the same command goes on; HU_ERR_CORRUPT names a damaged file of the cache.
 */
hu_status hu_scores_run(hu_config *config, const volatile sig_atomic_t *interrupted,
                        hu_scores *scores);

/* The object of `score --json`: one format, or "formats" of several. New reference. */
hu_status hu_scores_json(const hu_scores *scores, json_t **object);

/* Score against bits as an SVG file: the league, and the formats of the command (NULL: none), with
 * the front that nothing beats in both. HU_ERR_ARGUMENT: there is no row. Owner frees *svg. */
hu_status hu_league_draw(const hu_scores *scores, char **svg);

/* The tables for people. Owner frees with hu_free. */
hu_status hu_scores_print(const hu_scores *scores, char **text);

#endif
