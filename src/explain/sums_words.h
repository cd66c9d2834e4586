/* explain/sums_words.h - what is said of accumulators: of those that a death is of, or may be, and
 * of those of a run in which nothing died. */
#ifndef HU_EXPLAIN_SUMS_WORDS_H
#define HU_EXPLAIN_SUMS_WORDS_H
#include "explain/facts.h"
#include "show/json.h"

enum { HU_SUMS_WORDS_BYTES = 1024 };

/* Of a death: how large its sums may be and which of the run's candidate formats hold them; of one
 * whose sums were not counted, that they are the first suspect. Lines; "" of deaths that no
 * accumulator has a part in. Gives text. */
const char *hu_sums_death_words(const hu_explaining *x, const hu_death *death,
                                char text[HU_SUMS_WORDS_BYTES]);

/* Of a run: its worst sums; "" where every product adds in float32. Gives text. */
const char *hu_sums_run_words(const hu_explaining *x, char text[HU_SUMS_WORDS_BYTES]);

/* The same of each kind as {"saturated": {"product", "accumulator", "share", "step"} or null,
 * "flushed", "stalled"}; null where every product adds in float32 or nothing was counted; NULL if
 * out of memory. New reference. */
json_t *hu_sums_run_json(const hu_explaining *x);

#endif
