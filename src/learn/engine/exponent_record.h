/* engine/exponent_record.h - exponents of the numbers of all tensors before they are rounded, in
 * the steps that are recorded. Every number is counted once, however nodes are joined: where its
 * rounding is counted, a forward value by the region that makes it first. Ordinary steps pay for
 * one question per visit.
 */
#ifndef HU_ENGINE_EXPONENT_RECORD_H
#define HU_ENGINE_EXPONENT_RECORD_H
#include "engine/run.h"
#include "graph/tensor_order.h"
#include "kernel/histogram/histogram.h"

/* Forgets what was recorded; passes record this step from now on, those of a scan too. Nothing
 * happens without room (hu_run_reserve_histograms). */
void hu_exponent_record_begin(hu_run *run, uint64_t step);
void hu_exponent_record_end(hu_run *run);

/* Passes record this step again, beside what was recorded of it. */
void hu_exponent_record_go_on(hu_run *run, uint64_t step);

/* True if there is room for records; true if they hold this step. */
bool hu_exponent_record_has_room(const hu_run *run);
bool hu_exponent_record_has(const hu_run *run, uint64_t step);

/* Records the masters of the parameters. */
void hu_exponent_record_parameters(hu_run *run);

/* For passes: rows of the tensor with that tally; from several threads at once. */
void hu_exponent_record_rows(hu_run *run, uint32_t tally, int64_t n, const float *x);

/* The same for a whole tensor, outside of loops over chunks. */
void hu_exponent_record_whole(hu_run *run, uint32_t tally, int64_t n, const float *x);

/* What was recorded of a tensor; of a gradient: contributions of all consumers. false: nothing.
 * total must be zero or hold what is added to. */
bool hu_exponent_record_value(const hu_run *run, hu_value_id v, hu_histogram *total);
bool hu_exponent_record_gradient(const hu_run *run, hu_value_id v, hu_histogram *total);
bool hu_exponent_record_sum(const hu_run *run, hu_value_id v, hu_histogram *total);

/* The same of any tensor of a walk. Of what travels between workers nothing is recorded; the update
 * leaves its record of state in the table. */
bool hu_exponent_record_tensor(const hu_run *run, hu_tensor tensor, hu_histogram *total);

/* Counts of numbers that are not rounded, as their histogram tells them. */
hu_round_counts hu_exponent_record_counts(const hu_histogram *x);

#endif
