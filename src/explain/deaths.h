/* explain/deaths.h - the deaths of a run (harm.h says what is one), the worst first.
 *
 * Severity = weight of what was lost x how long it lasted x the share of tensors that are made of
 * it. What did not last is no death: it must hold in half of the steps from its first on. Before
 * its history is filled a delayed scale knows nothing, so what healed after that is none either.
 * Tensors that were promoted for what they lost are alive.
 */
#ifndef HU_EXPLAIN_DEATHS_H
#define HU_EXPLAIN_DEATHS_H
#include "explain/why.h"

/* Share of the steps from the first on in which a loss must hold. */
#define HU_DEAD_LASTED 0.5

/* Makes the list of deaths of a run whose names and formats are known. HU_ERR_MEMORY. */
hu_status hu_deaths_find(hu_why *why);

/* Share of its numbers that a tensor lost while the event held; of the first step alone where rows
 * do not tell. */
double hu_event_share(const hu_event_record *event);

/* The loss by which a tensor was gone in a step: most of its nonzero numbers became zero, or all of
 * them are zero, and that lasted. It is one however much was left, unlike those of hu_deaths_find.
 * *death: filled if there is one. */
bool hu_deaths_vanished(const hu_why *why, uint32_t place, int64_t step, hu_death *death);

/* Whether updates of some weight were lost for as long as a death must last, whatever the training
 * made of that: biases and the like do not count. */
bool hu_deaths_lose_updates(const hu_why *why);

/* Whether the sums of some product failed (sums.h) for as long. */
bool hu_deaths_fail_sums(const hu_why *why);

/* Whether numbers that were lost may be why others became infinite or NaN. */
bool hu_death_explains(const hu_death *death, const hu_death *end);

#endif
