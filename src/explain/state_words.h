/* explain/state_words.h - what `why` says of state of the optimizer beyond what it says of all.
 * Rules of precision do not reach such numbers: their formats are those of optimizer.state.
 */
#ifndef HU_EXPLAIN_STATE_WORDS_H
#define HU_EXPLAIN_STATE_WORDS_H
#include "explain/facts.h"

enum { HU_STATE_WORDS_BYTES = 512 };

/* A line that names the rule that would have held what died; "" of other tensors. text: room for
 * HU_STATE_WORDS_BYTES. Gives text. */
const char *hu_state_words(const hu_explaining *x, const hu_death *death, char *text);

#endif
