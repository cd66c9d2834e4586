/* explain/verdict.h - how a run ended, and which death explains it. */
#ifndef HU_EXPLAIN_VERDICT_H
#define HU_EXPLAIN_VERDICT_H
#include "explain/why.h"

/* Analyses a run; owner frees with hu_why_free. HU_ERR_CORRUPT: a format that is none. */
hu_status hu_why_create(const hu_history *history, const hu_walk *walk, hu_why *why);
void hu_why_free(hu_why *why);

#endif
