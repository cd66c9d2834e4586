/* engine/findings.h - what the passes of a step counted in one process, as bytes: so that all
 * processes of a training can know what they counted together, and decide alike.
 *
 * Counts of weights are left out: every process rounds the same ones.
 */
#ifndef HU_ENGINE_FINDINGS_H
#define HU_ENGINE_FINDINGS_H
#include "engine/run.h"

/* Bytes of the findings of a run: the same in all processes of one plan. 0: nothing is counted. */
size_t hu_findings_bytes(const hu_run *run);

/* Writes the counts of the edge table, the maxima for delayed scales, and what learned roundings
 * found (engine/learn.h), of the present step. */
void hu_findings_write(const hu_run *run, void *bytes);

/* all[rows][hu_findings_bytes]: all these become those of all rows together,
 * added in the order of the rows. */
void hu_findings_merge(hu_run *run, const void *all, int32_t rows);

#endif
