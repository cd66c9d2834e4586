/* diagnose/answer.h - all that `why` finds out about a run, and its JSON. */
#ifndef HU_DIAGNOSE_ANSWER_H
#define HU_DIAGNOSE_ANSWER_H
#include "diagnose/facts.h"
#include "diagnose/remedy.h"

typedef struct hu_answer {
    hu_diagnosis x;
    hu_remedy advice;
    bool has_advice;
} hu_answer;

/* The run's history, its formats to try (NULL, "": the usual ones), and what happened in it. Owner
 * closes answer with hu_answer_close, also after a failure. */
hu_status hu_answer_open(const char *folder, const char *formats, hu_answer *answer);
void hu_answer_close(hu_answer *answer);

/* Finds what to try. What died between workers, or in the optimizer, has advice of its own; a
 * folder without a configuration has none. */
hu_status hu_answer_advise(hu_answer *answer);

/* What was found, whose memory hu_remedy_price finds; NULL: none. Borrowed: from answer. */
hu_remedy *hu_answer_advice(hu_answer *answer);

/* The object of `why --json`; asked: place of a tensor beside it, HU_NONE: of none. New reference;
 * NULL if out of memory. */
json_t *hu_answer_json(const hu_answer *answer, uint32_t asked);

#endif
