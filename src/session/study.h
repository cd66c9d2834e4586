/* session/study.h - the reductions that a configuration asks for: lists of schedules, formats and
 * scalings, each with each. */
#ifndef HU_SESSION_STUDY_H
#define HU_SESSION_STUDY_H
#include "comm/study.h"
#include "config/config.h"

/* Keys comm.*, cluster.link, cluster.latency, bench.elements, bench.format (the word format=),
 * run.seed, run.repeat (seeds) and run.steps (reductions). Threads are left to the caller. Owner
 * frees with hu_comm_study_free. */
hu_status hu_study_read(hu_config *config, hu_comm_study *study);

#endif
