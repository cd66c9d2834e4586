/* sweep/candidates.h - candidates of a search, with the memory that each would hold. */
#ifndef HU_SWEEP_CANDIDATES_H
#define HU_SWEEP_CANDIDATES_H
#include "diagnose/remedy.h"

/* Plans the run's training as it is and with each option, without its samples, and fills the bytes
 * of advice and options; 0 where the folder does not tell enough to plan. HU_ERR_MEMORY. */
hu_status hu_remedy_price(const char *folder, hu_remedy *advice);

#endif
