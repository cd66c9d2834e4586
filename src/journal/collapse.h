/* journal/collapse.h - trainings that end without a non-finite number and have learned nothing. */
#ifndef HU_JOURNAL_COLLAPSE_H
#define HU_JOURNAL_COLLAPSE_H
#include <stdbool.h>
#include <stddef.h>

#include <halfulp/status.h>

#include "task/metric.h"

enum { HU_COLLAPSE_BYTES = 256 };

/* Whether a training collapsed: its metric was worse than half of its own best (twice, where lower
 * is better) in the last third of at least three evaluations, or the last one lies within two
 * standard deviations of what a guess gives, of a metric that knows chance.
 *
 *   test    [count] evaluations in their order
 *   reason  what is so, in a sentence; "" if the answer is no
 *
 * Source: Lee et al., section 5: "accuracy decreases significantly and remains low".
 */
bool hu_collapsed(const hu_metric *metric, const hu_chance *chance, const double *test,
                  size_t count, char reason[HU_COLLAPSE_BYTES]);

/* The same of a run folder, whose metrics.jsonl has the evaluations: those of the held-out samples
 * where it has such, else of the test samples. HU_ERR_MISSING,
 * HU_ERR_CORRUPT. */
hu_status hu_collapse_read(const char *folder, const hu_metric *metric, const hu_chance *chance,
                           char reason[HU_COLLAPSE_BYTES]);

#endif
