/* explain/wire_words.h - what `why` says of a tensor on its way between workers beyond what it says
 * of all: what its sums lost, and what could be changed.
 */
#ifndef HU_EXPLAIN_WIRE_WORDS_H
#define HU_EXPLAIN_WIRE_WORDS_H
#include "explain/wire.h"

enum { HU_WIRE_WORDS_BYTES = 8192 };

/* Lines of text; of a death of kind NONE its step alone counts, and nothing is advised. text: room
 * for HU_WIRE_WORDS_BYTES. Gives text. */
const char *hu_wire_words(const hu_opened_run *run, const hu_why *why, uint32_t place,
                          const hu_death *death, char *text);

#endif
