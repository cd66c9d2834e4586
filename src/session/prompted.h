/* session/prompted.h - what a language model of a run's folder puts behind a text. */
#ifndef HU_SESSION_PROMPTED_H
#define HU_SESSION_PROMPTED_H
#include "data/vocabulary.h"
#include "session/continuation.h"
#include "session/saved_run.h"
#include "show/json.h"

typedef struct hu_prompted {
    hu_saved_run run;
    hu_words words;
    hu_prompt prompt;
    hu_continuation options; /* of the drawn tokens; temperature 0: none are */
    char *likeliest, *drawn; /* what follows the text; NULL: not made */
} hu_prompted;

/* Opens a run and lets it go on with a text [bytes, with a zero behind it] as the keys predict.*
 * say. where: names the text in messages. Words that the run does not know are told to the
 * listener. HU_ERR_ARGUMENT: keys of samples (out.*) are given too. Errors of hu_saved_run_open,
 * hu_prompt_read and hu_continue. Owner frees with hu_prompted_free, also on failure. Proof:
 * tests/program/prompt_test.py. */
hu_status hu_prompted_make(hu_config *config, const char *directory, const hu_listener *listener,
                           const char *where, const char *text, size_t bytes, hu_prompted *made);
void hu_prompted_free(hu_prompted *made);

/* What was asked and what came of it. NULL if out of memory. New reference. */
json_t *hu_prompted_json(const hu_prompted *made);

/* The same for people: the text, and what stands behind it. Owner frees *text with hu_free. */
hu_status hu_prompted_text(const hu_prompted *made, char **text);

#endif
