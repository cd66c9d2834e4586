/* diagnose/sentences.h - what a tensor, a wire, an optimizer's state or a sum lost, in words. */
#ifndef HU_EXPLAIN_SENTENCES_H
#define HU_EXPLAIN_SENTENCES_H
#include "diagnose/facts.h"
#include "diagnose/wire_remedy.h"
#include "render/json.h"

/* ---- What a tensor lost, in words ---- */

enum { HU_LOSS_WORDS_BYTES = 512, HU_MAGNITUDES_BYTES = 64 };

/* "12.5 % of its 4096 numbers are too small for e4m3 and became zero (magnitudes 2^-30 .. 2^-3)".
 * Gives text. */
const char *hu_loss_words(const hu_diagnosis *x, const hu_failure *death,
                          const hu_round_counts *counts, const char *format,
                          char text[HU_LOSS_WORDS_BYTES]);

/* "in 12 steps up to 40", "in one step"; empty where the rows do not tell. Gives text. */
const char *hu_duration_words(const hu_failure *death, char text[HU_MAGNITUDES_BYTES]);

/* "magnitudes 2^-30 .. 2^-3" */
const char *hu_magnitudes_words(const hu_round_counts *counts, char text[HU_MAGNITUDES_BYTES]);

/* ---- wire words ---- */

/* What `why` says of a tensor on its way between workers beyond what it says
 * of all: what its sums lost, and what could be changed.
 */

enum { HU_WIRE_WORDS_BYTES = 8192 };

/* Lines of text; of a death of kind NONE its step alone counts, and nothing is advised. text: room
 * for HU_WIRE_WORDS_BYTES. Gives text. */
const char *hu_wire_words(const hu_run_record *run, const hu_why *why, uint32_t place,
                          const hu_failure *death, char *text);

/* ---- state words ---- */

/* What `why` says of state of the optimizer beyond what it says of all.
 * Rules of precision do not reach such numbers: their formats are those of optimizer.state.
 */

enum { HU_STATE_WORDS_BYTES = 512 };

/* A line that names the rule that would have held what died; "" of other tensors. text: room for
 * HU_STATE_WORDS_BYTES. Gives text. */
const char *hu_state_words(const hu_diagnosis *x, const hu_failure *death, char *text);

/* ---- sums words ---- */

/* What is said of accumulators: of those that a death is of, or may be, and
 * of those of a run in which nothing died. */

enum { HU_SUMS_WORDS_BYTES = 1024 };

/* Of a death: how large its sums may be and which of the run's candidate formats hold them; of one
 * whose sums were not counted, that they are the first suspect. Lines; "" of deaths that no
 * accumulator has a part in. Gives text. */
const char *hu_sums_failure_words(const hu_diagnosis *x, const hu_failure *death,
                                  char text[HU_SUMS_WORDS_BYTES]);

/* Of a run: its worst sums; "" where every product adds in float32. Gives text. */
const char *hu_sums_run_words(const hu_diagnosis *x, char text[HU_SUMS_WORDS_BYTES]);

#endif
