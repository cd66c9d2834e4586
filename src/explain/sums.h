/* explain/sums.h - accumulators as causes of death: products whose sums saturate, are flushed, or
 * do not move any more.
 *
 * Thresholds are shares of one counted step: of accumulators that rounded beyond the largest finite
 * number, of those that a format without subnormals flushed, and of terms of two nonzero factors
 * that changed nothing. Subnormal sums are kept, so that they count where they stall. Long sums of
 * trainings that go well ignore up to two thirds of their terms, the small ones: more than that is
 * a death only where a training that is long enough to tell does not go well, or has collapsed.
 */
#ifndef HU_EXPLAIN_SUMS_H
#define HU_EXPLAIN_SUMS_H
#include "explain/why.h"
#include "journal/events.h"

/* Of terms, where sums may be why a training does not go well. */
#define HU_SUMS_SLOWED 0.7

/* The death of a product; false: it has none. What saturates or is flushed stalls too, so that it
 * is told first; the severity is the largest share of the three. The place is that of the tensor
 * that the product makes; behind is not filled in. */
bool hu_sums_death(const hu_why *why, uint32_t product, hu_death *death);

/* The accumulator is the first suspect of a product's output: where the sums of that step were
 * counted, and are why the tensor is infinite, NaN, saturated or all zero, the death becomes that
 * of the sums; where they were not, death->adder names who may be. Neither where the product got
 * such numbers. death->cause is known. */
void hu_sums_suspect(const hu_why *why, hu_death *death);

/* Whether a death is of sums, or may be. */
bool hu_sums_suspected(const hu_death *death);

/* Every sum of the product stays below 2^this in the step of the death, by the largest numbers of
 * its factors and the number of its terms; HU_NO_EXPONENT: not known. */
int32_t hu_sums_reach(const hu_why *why, const hu_death *death);

/* The worst sums of a run in a counted step. */
typedef struct hu_worst_sums {
    const char *product, *accumulator; /* NULL: nothing of the kind. Borrowed: from the history */
    double share;
    int64_t step;
} hu_worst_sums;

/* The largest share of a kind (HU_DEATH_SUMS_SATURATED, _FLUSHED, _STALLED) over all products and
 * steps that were counted. */
hu_worst_sums hu_sums_worst(const hu_why *why, hu_death_kind kind);

/* Whether sums of some step were counted. */
bool hu_sums_are_counted(const hu_why *why);

/* Share of a kind in one counted step; 0 for other kinds. */
double hu_sums_share(const hu_product_record *record, hu_death_kind kind);

#endif
