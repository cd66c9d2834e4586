/* predict/generation.h - how a language model goes on with a text. */
#ifndef HU_SESSION_GENERATION_H
#define HU_SESSION_GENERATION_H
#include "data/text.h"
#include "train/trainer.h"

typedef struct hu_generation {
    int64_t tokens;     /* that are put behind the text */
    double temperature; /* scores are divided by it; 0: the likeliest token, the first of equals */
    int32_t barred;     /* a token that is never said; -1: none is */
    uint64_t seed;      /* token k is drawn by word k of key {seed, "predict", 0} */
} hu_generation;

/* Puts tokens behind a prompt, one after the other: each is told by a pass over the last tokens, as
 * many as a sample has. A draw is by the cumulated softmax of the scores, in double: the same on
 * every machine that gives the same scores.
 *
 *   trainer  of the task language, on dataset
 *   dataset  as hu_data_known.prompts makes it; its sample is written
 *
 * HU_ERR_ARGUMENT: another task. HU_ERR_NONFINITE: a format stopped the pass, or scores are NaN or
 * infinite. HU_ERR_MEMORY. Proof: tests/program/prompt_test.py. */
hu_status hu_generation_make(hu_trainer *trainer, hu_dataset *dataset, const hu_generation *options,
                             hu_prompt *prompt);

#endif
