/* task/spelling.h - what rows of class scores spell, and how far two sequences are apart. */
#ifndef HU_TASK_SPELLING_H
#define HU_TASK_SPELLING_H
#include "task/metric.h"

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
