/* sweep/search_report.h - the end of a search in words: for plan.yaml, and for a terminal. */
#ifndef HU_SWEEP_SEARCH_REPORT_H
#define HU_SWEEP_SEARCH_REPORT_H
#include "sweep/search.h"

/* ---- assign_groups.c ---- */

/* What was measured of every group. Owner frees. */
hu_status hu_assign_print_groups(const hu_assign *assign, char **text);
void hu_assign_put_groups(const hu_assign *assign, json_t *object);

/* "24 of 3 steps (assign.short=1: 80 steps at most in all), each judged on 600 validation samples".
 */
void hu_assign_say_short_runs(const hu_assign *assign, char *text, size_t capacity);

#endif
