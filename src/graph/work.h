/* graph/work.h - what the time in the visits is spent on. */
#ifndef HU_GRAPH_WORK_H
#define HU_GRAPH_WORK_H
#include "graph/run.h"

/* Work that is no op's, behind those of hu_op_table. */
enum { HU_WORK_ROUND, HU_WORK_UNPACK, HU_WORK_OTHERS };

/* Index of an op, by name: a copy of a record counts as the record. */
int hu_work_of_op(const hu_op *op);

#endif
