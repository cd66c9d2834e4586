/* journal/runs.h - which folders are runs: those that hold a resolved configuration. */
#ifndef HU_JOURNAL_RUNS_H
#define HU_JOURNAL_RUNS_H
#include <stdbool.h>

#include "journal/names.h"

/* Path of a run's resolved configuration; owner frees. HU_ERR_MISSING: the folder is no run;
 * HU_ERR_ARGUMENT: it is that of a comparison, a demo or a search, of which the first runs are
 * named. */
hu_status hu_run_folder_config(const char *directory, char **path);

/* The folders directly below that are runs, by name. Owner frees with hu_names_free. */
hu_status hu_runs_below(const char *directory, hu_names *names);

/* Whether a directory is the folder of a run. HU_ERR_IO if the system cannot tell. */
hu_status hu_run_folder_is(const char *directory, bool *is_run);

#endif
