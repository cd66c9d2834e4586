/* report/own_range.h - what the training itself rounded a tensor to, as the range of a ridge. */
#ifndef HU_REPORT_OWN_RANGE_H
#define HU_REPORT_OWN_RANGE_H
#include "report/report.h"

/* Sets range and lost of the ridge of a histogram that was taken in that step, and has_range.
 *
 * A number format is shown where its scale laid it. scale=current and bias: by the largest number
 * of the histogram (of a recurrence, whose steps have scales of their own, that of the largest).
 * scale=delayedH: by the largest exponent that rows of numerics.jsonl tell of the H steps before,
 * which is exact to a binade where each row is of one step; 2^0 where no row is, as in step 0.
 * Gradients that travel between workers: the range of their way, if they lost more there.
 *
 * Where the largest number of the histogram is below the threshold, nothing finite overflows.
 *
 * Without a range: float32, and what has no one range (blocks with scales of their own, uniform
 * integers). The range's name is borrowed: valid as long as the run's history.
 * Proof: tests/program/report_test.py, scaled_ranges. */
void hu_report_own_range(const hu_report_run *run, const hu_tensor_exponents *tensor, int64_t step,
                         hu_chart_ridge *ridge);

/* Share of a tensor's numbers that a format would turn into zeros or overflow; infinities and NaN
 * are no loss of it. */
double hu_report_lost_in(const hu_exponents *exponents, const hu_format *format);

#endif
