/* diagnose/root_cause.h - the first cause of a failure. */
#ifndef HU_EXPLAIN_ROOT_CAUSE_H
#define HU_EXPLAIN_ROOT_CAUSE_H
#include "diagnose/run_record.h"
#include "diagnose/why.h"

/* Analyses a run, which must outlive the analysis; owner frees with hu_why_free. HU_ERR_MEMORY. */
hu_status hu_why_create(const hu_run_record *run, hu_why *why);
void hu_why_free(hu_why *why);

#endif
