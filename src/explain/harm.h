/* explain/harm.h - how much of a tensor an event took: what kills it.
 *
 * Dead is a tensor all of whose numbers are zero, or of whose nonzero ones nearly all became zero;
 * of which half or more saturated; or that was NaN or infinite in a step that was done. Less than
 * that is a death only if the errors are a tenth of the tensor's sum of squares, and only in a run
 * that does not train well. Formats whose scale follows the numbers saturate by design: the scale
 * of a block is floor(log2 max) - emax (OCP MX 1.0, section 6.3), which is no death.
 */
#ifndef HU_EXPLAIN_HARM_H
#define HU_EXPLAIN_HARM_H
#include "explain/why.h"

/* Shares of numbers from which a loss is a death, however the training goes; and the share of the
 * sum of squares from which a smaller one may be. */
#define HU_DEAD_UNDERFLOW 0.9
#define HU_DEAD_SATURATION 0.5
#define HU_DEAD_SQUARES 0.1

/* A training whose loss has fallen by this share of what it began with trains well. */
#define HU_TRAINS_WELL 0.2

/* Steps after which a loss tells how a training goes. */
enum { HU_STEPS_TO_TELL = 100 };

/* Whether the mean of the last losses is so far below the first. */
bool hu_trains_well(const hu_history *history);

/* 0: too little to be a death; else up to 1: the share of the numbers, or where that is smaller and
 * it was a part of them only, the share of the sum of squares that was lost. */
double hu_harm_weight(const hu_why *why, const hu_death *death);

#endif
