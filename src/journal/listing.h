/* journal/listing.h - the runs of a folder, a row each: what was trained, and how far it is. */
#ifndef HU_JOURNAL_LISTING_H
#define HU_JOURNAL_LISTING_H
#include "show/json.h"
#include "show/table.h"

/* [{"run", "name", "model", "precision", "data", "state", "step", "steps", "epochs", "metric":
 * {"name", "part", "value", "best", "better"} or null, "command", "changed"}, ...] of the runs
 * directly below a folder, or of the run that it is, by the time of their last beginning
 * (`changed`, seconds since 1970), whose words `command` has (null: nothing tells). state:
 * "running" (a process works in it), "finished", "stopped early", "diverged", "stopped" or
 * "failed", and "damaged" where its configuration or its result cannot be read. Owner drops the
 * reference. HU_ERR_MISSING: there is no such folder. HU_ERR_MEMORY. */
hu_status hu_listing_read(const char *folder, json_t **listing);

/* The same for people. Owner frees with hu_table_free. */
hu_status hu_listing_table(const json_t *listing, hu_table **table);

#endif
