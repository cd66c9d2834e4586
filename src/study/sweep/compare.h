/* sweep/compare.h - the rows of a comparison, their means over seeds, and which of these nothing
 * beats in both the metric and memory. */
#ifndef HU_SWEEP_COMPARE_H
#define HU_SWEEP_COMPARE_H
#include "base/statistics.h"
#include "config/config.h"
#include "runlog/result.h"
#include "sweep/jobs.h"

/* One comparison: every precision with every seed. */
typedef struct hu_compare {
    hu_keys *precisions, *seeds; /* lists of texts */
    hu_keys *common;             /* the keys that all rows share */
    char directory[512];
    hu_job *job; /* [precisions][seeds] */
    int count;
} hu_compare;

/* Means of the rows of one precision that ended well; NaN where there are none. */
typedef struct hu_compare_mean {
    const char *precision;                       /* borrowed */
    int rows, done, diverged, collapsed, failed; /* those that collapsed are done, too */
    /* Test metric of the last evaluation: mean, standard deviation (NaN: of one), lowest and
     * highest over the seeds; the same of the best evaluation of each run. */
    double value, deviation, least, most;
    double best, best_deviation;
    hu_sample_stats last_spread, best_spread;
    double behind; /* value less that of the best sound precision */
    bool is_noise; /* the 95 % interval of that difference holds zero */
    double low_ratio, memory_bytes, peak_rss_bytes, seconds, promoted, skipped;
    double aggregate_start, aggregate_bits, aggregate_mean; /* first step, end, over the steps */
    /* Bit-operations of the training and of one sample of inference, and both over those with the
     * most bits of all rows in all layers; NaN without a schedule of bits. */
    double training_bitops, relative_training, inference_bitops, relative_inference;
    /* No other precision is as good in both and better in one, of those of which no run collapsed:
     * by the last evaluations, by the best ones. */
    bool is_far; /* below the others (hu_is_far_below), by more than noise: on no front */
    bool is_front, is_best_front;
} hu_compare_mean;

/* Reads precisions, seeds, folder and rows of a command into a comparison that is all zero; nothing
 * is trained or written. HU_ERR_ARGUMENT, HU_ERR_UNKNOWN, HU_ERR_LIMIT say what is wrong with the
 * command. Owner frees with hu_compare_free, after a failure too. */
hu_status hu_compare_read(hu_config *config, hu_compare *compare);
void hu_compare_free(hu_compare *compare);

/* Trains the rows that are not finished, as hu_jobs_run, and writes compare.json after each.
 * HU_ERR_IO: another process compares in this folder. */
hu_status hu_compare_run(hu_config *config, const volatile sig_atomic_t *interrupted,
                         hu_compare *compare);

/* Splits "fp32,fp(4,3,4),w=e4m3,act=e5m2,demote:0.6" into precisions: at commas outside
 * parentheses, but w=, act=, grad=, wgrad= stay together until one comes again; other NAME=VALUE
 * words belong to what is before them, and so does "30: F" to a list by epoch ("0: E, 30: F").
 * Only at semicolons if there are any. Owner frees. */
hu_status hu_compare_split(const char *text, const char *origin, hu_keys **list);

/* The metric of the rows: what their results name, else the usual one of the model's task.
 * Borrowed: valid forever. */
const hu_metric *hu_compare_metric(const hu_compare *compare);

/* The weights that all rows are evaluated with: "master", "rounded". Borrowed: valid as long as the
 * comparison. */
const char *hu_compare_weights(const hu_compare *compare);

/* Mean of every precision: array of precisions; owner frees with hu_free. */
hu_status hu_compare_means(const hu_compare *compare, hu_compare_mean **means);

/* The object of `compare --json`. New reference. */
hu_status hu_compare_json(const hu_compare *compare, json_t **object);

/* The tables for people: in colours the best is bold, what went wrong red. Owner frees with
 * hu_free.
 */
hu_status hu_compare_print(const hu_compare *compare, bool is_coloured, char **text);

#endif
