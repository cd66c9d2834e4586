/* journal/history_plan.h - plan.json, read back. */
#ifndef HU_JOURNAL_HISTORY_PLAN_H
#define HU_JOURNAL_HISTORY_PLAN_H
#include "journal/history_inner.h"
#include "journal/records.h"

/* The whole of plan.json. */
hu_status hu_history_plan(const hu_place *place, const json_t *object, hu_plan_record **plan);
void hu_history_plan_free(hu_plan_record *plan);

#endif
