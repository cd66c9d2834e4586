/* report/summary.h - the precisions of a report as means over their seeds, with their fronts. */
#ifndef HU_REPORT_SUMMARY_H
#define HU_REPORT_SUMMARY_H
#include "base/statistics.h"
#include "report/report.h"

/* What a picture has across. That of the ratio has no front. */
enum { HU_BY_MEMORY, HU_BY_TRAINING, HU_BY_INFERENCE, HU_FRONTS, HU_BY_RATIO = HU_FRONTS, HU_AXES };

/* One precision: means over its seeds that ended well. */
typedef struct hu_summary {
    const hu_report_run *run; /* the first */
    int runs, done, diverged, collapsed;
    int ended;                       /* done or diverged: they have counts of their own */
    double value, least, most, best; /* of the run's metric, not yet as printed */
    double behind; /* how far from the value of the best, 0 or more; NaN: not known */
    bool is_noise; /* behind the best, but no further than seeds scatter; of one
                      seed each: than the test samples leave open */
    bool is_far;   /* far below the rest, by more than noise: on no front */
    double deviation, best_deviation;
    hu_sample_stats last_spread, best_spread;
    double low_ratio, aggregate_start, aggregate, aggregate_mean, memory, rss, rate, promoted,
        skipped, loss; /* loss: of those with_loss; NaN: there are none */
    int with_loss;
    double training_cost, inference_cost; /* shares; NaN: no schedule of bits */
    double training_bitops, inference_bitops;
    bool is_front[HU_FRONTS];
} hu_summary;

/* Summaries of all precisions of a numbered report, [precisions]; owner frees with hu_free. */
hu_status hu_report_summarise(const hu_report *report, hu_summary **all);

/* What a summary has across. */
double hu_summary_across(const hu_summary *s, int axis);

#endif
