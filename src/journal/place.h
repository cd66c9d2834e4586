/* journal/place.h - where the folder of a run is while it trains, and whether it may be written. */
#ifndef HU_JOURNAL_PLACE_H
#define HU_JOURNAL_PLACE_H
#include "journal/folder.h"

/* Whether the folder still has the path that it was opened by. It is known by its descriptor, which
 * also writes that go on into open histories follow. */
bool hu_run_folder_is_there(const hu_run_folder *folder);

/* What to do where it has not: saves the state where the folder is now (trainer NULL: it cannot be
 * saved by this process alone), and says so. HU_ERR_MISSING: it was moved, with its new path and
 * how to go on, or removed. The status of the saving where that fails. HU_OK: it is there. */
hu_status hu_run_folder_find_again(hu_run_folder *folder, hu_trainer *trainer);

/* Whether a run can be gone on with in its folder: HU_ERR_IO where it, its checkpoints or a history
 * cannot be written, and what helps. */
hu_status hu_run_folder_check_writable(const char *directory);

#endif
