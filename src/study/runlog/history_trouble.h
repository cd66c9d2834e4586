/* runlog/history_trouble.h - the measure of trouble.h, of what a run's files tell. */
#ifndef HU_JOURNAL_HISTORY_TROUBLE_H
#define HU_JOURNAL_HISTORY_TROUBLE_H
#include "runlog/history.h"
#include "runlog/trouble.h"

/* walk: hu_history_walk. HU_ERR_MEMORY. */
hu_status hu_trouble_of_run(const hu_history *history, const hu_tensor_order *walk,
                            hu_trouble *trouble);

#endif
