/* data/parallel_for.h - the same for every file of a list, on all threads. */
#ifndef HU_DATA_PARALLEL_FOR_H
#define HU_DATA_PARALLEL_FOR_H
#include <signal.h>

#include <halfulp/data.h>

/* Calls visit(context, i) for 0..count-1, several at once, in any order. The failure of the lowest
 * i is the result, with its message, whatever the threads do; after it only those before are still
 * visited. */
hu_status hu_data_each(int64_t count, hu_status (*visit)(void *context, int64_t i), void *context);

/* From now on hu_data_each ends between two files where the flag is not zero, with
 * HU_ERR_INTERRUPTED. NULL: nobody asks. Of the process; borrowed until it is replaced. */
void hu_data_watch(const volatile sig_atomic_t *interrupted);

/* Reads all samples of a split into memory, field by field, and closes its reader. owned: where the
 * arrays are put, one for each field that was read; the owner frees them, also on failure. */
hu_status hu_split_keep(const hu_dataset *dataset, void **owned, hu_split *split);

#endif
