/* task/surprise.h - what `predict` says of rows of words: how surprising the true ones are. */
#ifndef HU_TASK_SURPRISE_H
#define HU_TASK_SURPRISE_H
#include "task/task.h"

/* Columns of hu_describe_surprise: tokens that count, their perplexity, the share that is right. */
#define HU_SURPRISE_COLUMNS                                                                        \
    {"tokens", true, 0, false}, {"perplexity", false, 2, false}, {                                 \
        "accuracy", false, 4, false                                                                \
    }

/* Of one sample of class scores, which is one text. NaN where a format stopped the pass. */
void hu_describe_surprise(const hu_metric_call *sample, double *cells);

/* The true tokens of a sample, or the likeliest one of each place that counts, -1 where a score is
 * NaN; number [rows]. Returns how many. */
int64_t hu_spell_surprise(const hu_metric_call *sample, bool is_truth, int32_t *number);

#endif
