/* journal/runs.h - which folders are runs: those that hold a resolved configuration. */
#ifndef HU_JOURNAL_RUNS_H
#define HU_JOURNAL_RUNS_H
#include <stdbool.h>

#include "journal/names.h"
#include "show/json.h"

/* Path of a run's resolved configuration; owner frees. HU_ERR_MISSING: the folder is no run;
 * HU_ERR_ARGUMENT: it is that of a comparison, a demo or a search, of which the first runs are
 * named; HU_ERR_CORRUPT: it holds what is no file of its own (journal/owned.h). */
hu_status hu_run_folder_config(const char *directory, char **path);

/* The folders directly below that are runs, by name. Owner frees with hu_names_free. */
hu_status hu_runs_below(const char *directory, hu_names *names);

/* The folders directly below that are of comparisons, demos or searches, or may be: they have a
 * list of runs, or a progress.jsonl and no configuration. Owner frees with hu_names_free. */
hu_status hu_groups_below(const char *directory, hu_names *names);

/* The list of runs that a verb left in its folder, and its name: "compare", "demo", "assign", or ""
 * and NULL where there is none; NULL also of a list that cannot be read. New reference.
 * HU_ERR_MEMORY. */
hu_status hu_runs_list(const char *directory, const char **verb, json_t **list);

/* Whether a directory is the folder of a run. HU_ERR_IO if the system cannot tell. */
hu_status hu_run_folder_is(const char *directory, bool *is_run);

#endif
