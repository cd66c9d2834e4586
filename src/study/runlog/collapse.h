/* runlog/collapse.h - whether a training fell back to chance, and the largest numbers of its
 * steps. */
#ifndef HU_JOURNAL_COLLAPSE_H
#define HU_JOURNAL_COLLAPSE_H
#include <stdbool.h>
#include <stddef.h>

#include <halfulp/status.h>

#include "graph/tensor_order.h"
#include "runlog/records.h"
#include "task/task.h"

/* ---- largest ---- */

/* The largest gradients of a recorded run, and the loss scales that they leave
 * room for. */

/* The largest magnitude of gradients, of the unscaled loss. */
typedef struct hu_largest {
    double magnitude; /* 0: none is recorded */
    bool is_bound;    /* only its exponent is known: it lies below */
    int64_t step;     /* of counts: the last step of their row */
} hu_largest;

enum { HU_LARGEST_ACT, HU_LARGEST_PARAMETER, HU_LARGEST_KINDS };

/* Of all steps that were recorded and not skipped: gradients of activations and of parameters.
 * Tensors that are rounded are counted in every step, by exponents; histograms tell magnitudes. */
void hu_history_largest(const hu_history *history, const hu_tensor_order *walk,
                        hu_largest largest[HU_LARGEST_KINDS]);

/* The larger of both. */
hu_largest hu_largest_of_all(const hu_largest largest[HU_LARGEST_KINDS]);

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
