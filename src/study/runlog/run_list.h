/* runlog/run_list.h - run folders below a folder, and what a line of a listing says of each. */
#ifndef HU_JOURNAL_RUN_LIST_H
#define HU_JOURNAL_RUN_LIST_H
#include <stdbool.h>

#include "render/json.h"
#include "render/table.h"
#include "runlog/names.h"
#include "runlog/progress.h"

/* ---- Which folders are runs: those that hold a resolved configuration ---- */

/* Path of a run's resolved configuration; owner frees. HU_ERR_MISSING: the folder is no run;
 * HU_ERR_ARGUMENT: it is that of a comparison, a demo or a search, of which the first runs are
 * named; HU_ERR_CORRUPT: it holds what is no file of its own (runlog/folder.h). */
hu_status hu_run_folder_config(const char *directory, char **path);

/* The folders directly below that are runs, by name. Owner frees with hu_names_free. */
hu_status hu_runs_below(const char *directory, hu_names *names);

/* The list of runs that a verb left in its folder, and its name: "compare", "demo", "assign", or ""
 * and NULL where there is none; NULL also of a list that cannot be read. New reference.
 * HU_ERR_MEMORY. */
hu_status hu_runs_list(const char *directory, const char **verb, json_t **list);

/* Whether a directory is the folder of a run. HU_ERR_IO if the system cannot tell. */
hu_status hu_run_folder_is(const char *directory, bool *is_run);

/* ---- listing ---- */

/* The runs of a folder, a row each: what was trained, and how far it is. */

/* [{"run", "name", "model", "precision", "data", "state", "step", "steps", "epochs", "metric":
 * {"name", "part", "value", "best", "better"} or null, "command", "changed"}, ...] of the runs
 * directly below a folder, or of the run that it is, by the time of their last beginning
 * (`changed`, seconds since 1970), whose words `command` has (null: nothing tells). state:
 * "running" (a process works in it), "finished", "stopped early", "diverged", "stopped" or
 * "failed", and "damaged" where its configuration or its result cannot be read. Owner drops the
 * reference. HU_ERR_MISSING: there is no such folder. HU_ERR_MEMORY. */
hu_status hu_run_list_read(const char *folder, json_t **listing);

/* [{"folder", "kind", "state", "rows", "done", "failed", "diverged", "best": {"name", "metric"} or
 * null, "command", "changed"}, ...] of comparisons, demos and searches (kind: "compare", "demo",
 * "assign") directly below a folder, and of the folder itself, where it is one.
 * rows, done: trainings, and those that have ended, well or diverged; null: not known. best: the
 * precision of the best mean, or what a search chose. state: "running", "finished", "interrupted",
 * "failed" or "stopped". Owner drops the reference. HU_ERR_MISSING, HU_ERR_MEMORY. */
hu_status hu_run_list_groups(const char *folder, json_t **listing);

/* The same for people. Owner frees with hu_table_free. */
hu_status hu_run_list_groups_table(const json_t *listing, hu_table **table);

/* The runs for people. Owner frees with hu_table_free. */
hu_status hu_run_list_table(const json_t *listing, hu_table **table);

#endif
