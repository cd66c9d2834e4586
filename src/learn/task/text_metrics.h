/* task/text_metrics.h - metrics of texts: BLEU and the rate of wrong labels. */
#ifndef HU_TASK_TEXT_METRICS_H
#define HU_TASK_TEXT_METRICS_H
#include "task/metric.h"

/* ---- bleu ---- */

/* How many runs of words a translation shares with the true one, over a whole set. */

enum { HU_BLEU_ORDERS = 4 };

/* Whole numbers as doubles, which add up in any order: sums of sets are those of their parts. All
 * zero: of no sentence. */
typedef struct hu_bleu {
    double match[HU_BLEU_ORDERS]; /* runs of 1..4 words of the translations that the true ones have,
                                     each as often at most as the true one has it */
    double count[HU_BLEU_ORDERS]; /* all runs of the translations */
    double words, true_words;
} hu_bleu;

/* Adds a sentence: made [m], wanted [n] class numbers. */
void hu_bleu_add(const int32_t *made, int64_t m, const int32_t *wanted, int64_t n, hu_bleu *bleu);

/* exp(min(0, 1 - r/c)) (p1 p2 p3 p4)^(1/4), p of order n being matches over runs, c the words, r
 * the true ones, without smoothing: 0 where a p is 0 or has no run; NaN without true words.
 * Papineni, Roukos, Ward, Zhu (2002), section 2.3, with one true translation.
 * Proof: tests/unit/task_bleu_test.c. */
double hu_bleu_value(const hu_bleu *bleu);

/* Bytes of a call's scratch that the metric needs: both texts of a sample. */
size_t hu_bleu_scratch_bytes(const hu_metric_call *shape);

/* ---- What rows of class scores spell, and how far two sequences are apart ---- */

/* Changes that make one sequence of the other at least: numbers that are put in, left out or taken
 * for others (Levenshtein). room: [n + 1]. */
int64_t hu_edit_distance(const int32_t *one, int64_t m, const int32_t *other, int64_t n,
                         int64_t *room);

/* Labels of sample s in order; number [targets]. Returns how many there are. */
int64_t hu_spelling_wanted(const hu_metric_call *part, int64_t s, int32_t *number);

/* The best path of sample s: the first largest class of each row that counts, repeats joined,
 * blanks dropped. A row with a NaN says nothing; without predictions nothing is said. number
 * [rows]. Returns how many there are. */
int64_t hu_spelling_made(const hu_metric_call *part, int64_t s, int32_t *number);

/* Bytes of scratch for both sequences of a sample and their distance. */
size_t hu_spelling_scratch_bytes(const hu_metric_call *shape);

/* The two sequences in call->scratch. */
typedef struct hu_spelling {
    int32_t *wanted, *made;
    int64_t wanted_count, made_count, edits;
} hu_spelling;

/* Looks at sample s. */
hu_spelling hu_spelling_of(const hu_metric_call *part, int64_t s);

#endif
