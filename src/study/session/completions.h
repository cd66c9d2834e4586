/* session/completions.h - what a language model of a run's folder puts after a text. */
#ifndef HU_SESSION_COMPLETIONS_H
#define HU_SESSION_COMPLETIONS_H
#include "data/text.h"
#include "data/vocabulary.h"
#include "render/json.h"
#include "session/saved_run.h"

typedef struct hu_generation {
    int64_t tokens;     /* that are put after the text */
    double temperature; /* scores are divided by it; 0: the likeliest token, the first of equals */
    int32_t barred;     /* a token that is never said; -1: none is */
    uint64_t seed;      /* token k is drawn by word k of key {seed, "predict", 0} */
} hu_generation;

typedef struct hu_completions {
    hu_saved_run run;
    hu_words words;
    hu_prompt prompt;
    hu_generation options;   /* of the drawn tokens; temperature 0: none are */
    char *likeliest, *drawn; /* what follows the text; NULL: not made */
} hu_completions;

/* Opens a run and lets it go on with a text [bytes, with a zero after it] as the keys predict.*
 * say. where: names the text in messages. Words that the run does not know are told to the
 * listener. HU_ERR_ARGUMENT: keys of samples (out.*) are given too. Errors of hu_saved_run_open,
 * hu_prompt_read; HU_ERR_NONFINITE: a format stopped a pass, or
 * scores are NaN or infinite. Owner frees with hu_completions_free, also on failure.
 * Proof: tests/program/prompt_test.py. */
hu_status hu_completions_make(hu_config *config, const char *directory, const hu_listener *listener,
                              const char *where, const char *text, size_t bytes,
                              hu_completions *made);
void hu_completions_free(hu_completions *made);

/* What was asked and what came of it. NULL if out of memory. New reference. */
json_t *hu_completions_json(const hu_completions *made);

/* The same for people: the text, and what stands after it. Owner frees *text with hu_free. */
hu_status hu_completions_text(const hu_completions *made, char **text);

#endif
