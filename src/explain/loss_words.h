/* explain/loss_words.h - what a tensor lost, in words. */
#ifndef HU_EXPLAIN_LOSS_WORDS_H
#define HU_EXPLAIN_LOSS_WORDS_H
#include "explain/facts.h"

enum { HU_LOSS_WORDS_BYTES = 512, HU_MAGNITUDES_BYTES = 64 };

/* "12.5 % of its 4096 numbers are too small for e4m3 and became zero (magnitudes 2^-30 .. 2^-3)".
 * Gives text. */
const char *hu_loss_words(const hu_explaining *x, const hu_death *death,
                          const hu_round_counts *counts, const char *format,
                          char text[HU_LOSS_WORDS_BYTES]);

/* "in 12 steps up to 40", "in one step"; empty where the rows do not tell. Gives text. */
const char *hu_duration_words(const hu_death *death, char text[HU_MAGNITUDES_BYTES]);

/* "magnitudes 2^-30 .. 2^-3" */
const char *hu_magnitudes_words(const hu_round_counts *counts, char text[HU_MAGNITUDES_BYTES]);

#endif
