/* session/result_facts.h - facts of a training in its result that no format, worker or bit
 * explains.
 */
#ifndef HU_SESSION_RESULT_FACTS_H
#define HU_SESSION_RESULT_FACTS_H
#include "show/json.h"
#include "train/trainer.h"

/* Adds the task's further metrics and those of each class, the aggregate, what a guess is worth,
 * why the run is said to have collapsed (collapse "": it is not), and what was waited for.
 * HU_ERR_MEMORY: a list of classes had no room. */
hu_status hu_result_facts_put(json_t *object, const hu_trainer *trainer, const hu_dataset *dataset,
                              const char *collapse);

#endif
