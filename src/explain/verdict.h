/* explain/verdict.h - how a run ended, and which death explains it. */
#ifndef HU_EXPLAIN_VERDICT_H
#define HU_EXPLAIN_VERDICT_H
#include "explain/opened.h"
#include "explain/why.h"

/* Analyses a run, which must outlive the analysis; owner frees with hu_why_free. HU_ERR_MEMORY. */
hu_status hu_why_create(const hu_opened_run *run, hu_why *why);
void hu_why_free(hu_why *why);

#endif
