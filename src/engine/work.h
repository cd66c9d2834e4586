/* engine/work.h - what the threads' time in the visits of the chunks is spent on, in passes with
 * `timed`. */
#ifndef HU_ENGINE_WORK_H
#define HU_ENGINE_WORK_H
#include "engine/run.h"

/* Work that is no op's, behind those of hu_op_table. */
enum { HU_WORK_ROUND, HU_WORK_UNPACK, HU_WORK_OTHERS };

/* Index of an op, by name: a copy of a record counts as the record. */
int hu_work_of_op(const hu_op *op);

/* The ops by name in the order of hu_op_table, then "round and pack", then "unpack"; seconds summed
 * over threads since the run was made or the last hu_run_clear_work. */
int hu_run_work_count(void);
const char *hu_run_work_name(int work);
double hu_run_work_seconds(const hu_run *run, int work);
void hu_run_clear_work(hu_run *run);

#endif
