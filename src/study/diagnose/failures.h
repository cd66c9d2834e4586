/* diagnose/failures.h - where numbers of a training died, how much of a tensor that took, and what
 * followed. */
#ifndef HU_EXPLAIN_FAILURES_H
#define HU_EXPLAIN_FAILURES_H
#include "diagnose/why.h"
#include "runlog/events.h"

/* ---- harm ---- */

/* How much of a tensor an event took: what kills it.
 *
 * Dead is a tensor all of whose numbers are zero, or of whose nonzero ones nearly all became zero;
 * of which half or more saturated; or that was NaN or infinite in a step that was done. Less than
 * that is a death only if the errors are a tenth of the tensor's sum of squares, and only in a run
 * that does not train well. Formats whose scale follows the numbers saturate by design: the scale
 * of a block is floor(log2 max) - emax (OCP MX 1.0, section 6.3), which is no death.
 */

/* Shares of numbers from which a loss is a death, however the training goes; and the share of the
 * sum of squares from which a smaller one may be. */
#define HU_DEAD_UNDERFLOW 0.9
#define HU_DEAD_SATURATION 0.5
#define HU_DEAD_SQUARES 0.1

/* A training whose loss has fallen by this share of what it began with trains well. */
#define HU_TRAINS_WELL 0.2

/* Steps after which a loss tells how a training goes. */
enum { HU_STEPS_TO_TELL = 100 };

/* ---- sums ---- */

/* Accumulators as causes of death: products whose sums saturate, are flushed, or
 * do not move any more.
 *
 * Thresholds are shares of one counted step: of accumulators that rounded beyond the largest finite
 * number, of those that a format without subnormals flushed, and of terms of two nonzero factors
 * that changed nothing. Subnormal sums are kept, so that they count where they stall. Long sums of
 * trainings that go well ignore up to two thirds of their terms, the small ones: more than that is
 * a death only where a training that is long enough to tell does not go well, or has collapsed.
 */

/* Of terms, where sums may be why a training does not go well. */
#define HU_SUMS_SLOWED 0.7

/* The accumulator is the first suspect of a product's output: where the sums of that step were
 * counted, and are why the tensor is infinite, NaN, saturated or all zero, the death becomes that
 * of the sums; where they were not, death->adder names who may be. Neither where the product got
 * such numbers. death->cause is known. */
void hu_sums_suspect(const hu_why *why, hu_failure *death);

/* Whether a death is of sums, or may be. */
bool hu_sums_suspected(const hu_failure *death);

/* Every sum of the product stays below 2^this in the step of the death, by the largest numbers of
 * its factors and the number of its terms; HU_NO_EXPONENT: not known. */
int32_t hu_sums_reach(const hu_why *why, const hu_failure *death);

/* The worst sums of a run in a counted step. */
typedef struct hu_worst_sums {
    const char *product, *accumulator; /* NULL: nothing of the kind. Borrowed: from the history */
    double share;
    int64_t step;
} hu_worst_sums;

/* The largest share of a kind (HU_FAILURE_SUMS_SATURATED, _FLUSHED, _STALLED) over all products and
 * steps that were counted. */
hu_worst_sums hu_sums_worst(const hu_why *why, hu_failure_kind kind);

/* Whether sums of some step were counted. */
bool hu_sums_are_counted(const hu_why *why);

/* Share of a kind in one counted step; 0 for other kinds. */
double hu_sums_share(const hu_product_record *record, hu_failure_kind kind);

/* ---- deaths ---- */

/* The deaths of a run (what is one: severity above), the worst first.
 *
 * Severity = weight of what was lost x how long it lasted x the share of tensors that are made of
 * it. What did not last is no death: it must hold in half of the steps from its first on. Before
 * its history is filled a delayed scale knows nothing, so what healed after that is none either.
 * Tensors that were promoted for what they lost are alive.
 */

/* Share of the steps from the first on in which a loss must hold. */
#define HU_DEAD_LASTED 0.5

/* Makes the list of deaths of a run whose names and formats are known. HU_ERR_MEMORY. */
hu_status hu_failures_find(hu_why *why);

/* Share of its numbers that a tensor lost while the event held; of the first step alone where rows
 * do not tell. */
double hu_event_share(const hu_event_record *event);

/* The loss by which a tensor was gone in a step: most of its nonzero numbers became zero, or all of
 * them are zero, and that lasted. It is one however much was left, unlike those of
 * hu_failures_find. *death: filled if there is one. */
bool hu_failures_vanished(const hu_why *why, uint32_t place, int64_t step, hu_failure *death);

/* Whether updates of some weight were lost for as long as a death must last, whatever the training
 * made of that: biases and the like do not count. */
bool hu_failures_lose_updates(const hu_why *why);

/* Whether the sums of some product failed (failures.h) for as long. */
bool hu_failures_fail_sums(const hu_why *why);

/* Whether numbers that were lost may be why others became infinite or NaN. */
bool hu_failure_explains(const hu_failure *death, const hu_failure *end);

/* ---- followed ---- */

/* What followed a death: the tensors after it of which nothing is left. */

/* Finds the tensors that are made of the one that died, directly or by others, and all of whose
 * numbers are zero in the steps of the row that holds the death's: where gradients vanish, no layer
 * after learns. Parameters of one dimension that may vanish without harm are left out.
 *
 * Fills why->is_gone ([walk->count], freed by hu_why_free) and why->gone. HU_ERR_MEMORY. */
hu_status hu_propagated_find(hu_why *why);

/* Whether all of a tensor's numbers were zero before they were rounded: it lost none itself, but
 * got nothing from the death that is told. */
bool hu_propagated_only(const hu_why *why, const hu_failure *death);

enum { HU_FOLLOWED_BYTES = 512 };

/* "No gradient reaches conv3.out: ...", a line; "" where nothing is gone. Gives text. */
const char *hu_propagated_words(const hu_why *why, char text[HU_FOLLOWED_BYTES]);

#endif
