/* task/language.h - tasks of words: the next one, or those that were hidden. */
#ifndef HU_TASK_LANGUAGE_H
#define HU_TASK_LANGUAGE_H
#include "task/task.h"

/* ---- surprise ---- */

/* What `predict` says of rows of words: how surprising the true ones are. */

/* Columns of hu_describe_token_loss: tokens that count, their perplexity, the share that is right.
 */
#define HU_SURPRISE_COLUMNS                                                                        \
    {"tokens", true, 0, false}, {"perplexity", false, 2, false}, {                                 \
        "accuracy", false, 4, false                                                                \
    }

/* Of one sample of class scores, which is one text. NaN where a format stopped the pass. */
void hu_describe_token_loss(const hu_metric_call *sample, double *cells);

/* ---- pretrain ---- */

/* The fields of the task pretrain, for models that read more than the first. */

/* Numbers of the fields: tokens and segments [T], hidden words and their places [M], whether the
 * segments belong together, and the tokens that are there. */
enum {
    HU_PRETRAIN_TOKENS,
    HU_PRETRAIN_SEGMENTS,
    HU_PRETRAIN_TARGETS,
    HU_PRETRAIN_LABEL,
    HU_PRETRAIN_PLACES,
    HU_PRETRAIN_LENGTH
};

#endif
