/* data/prefetch.h - samples read from their files ahead of the step that wants them. */
#ifndef HU_DATA_PREFETCH_H
#define HU_DATA_PREFETCH_H
#include "data/reader.h"
#include "data/sampler.h"

typedef struct hu_prefetch_settings {
    const hu_split *split; /* with a reader */
    hu_sampler_settings order;
    hu_augment augment; /* area and scales are read */
    int64_t window;     /* most samples that are wanted at once, at least 1 */
    int threads;        /* at least 1 */
    bool goes_on;       /* with the next epoch after the last sample of one */
    int memory_parts;   /* the room is at most this part of what the reader allows */
    size_t kept;        /* bytes of that part that the reader keeps: where a window does not fit
                           beside them it drops them */
} hu_prefetch_settings;

typedef struct hu_prefetch hu_prefetch;

/* Threads are started by the first sample that is wanted. HU_ERR_ARGUMENT where a window does not
 * fit into the memory; HU_ERR_MEMORY. Owner frees with hu_prefetch_free. */
hu_status hu_prefetch_create(const hu_prefetch_settings *settings, hu_prefetch **ahead);

/* Ends the threads; NULL is allowed. */
void hu_prefetch_free(hu_prefetch *ahead);

/* Waits until positions first .. first+count-1 of an epoch are present; those before them are given
 * up, those after are read meanwhile. Any order of calls is right, an ascending one is fast.
 * The failure of the first sample that could not be read; HU_ERR_ARGUMENT for more than a window;
 * HU_ERR_MEMORY where no thread can be started. Called by one thread. */
hu_status hu_prefetch_want(hu_prefetch *ahead, int64_t epoch, int64_t first, int64_t count);

/* Bytes of a sample among those that were wanted last. Borrowed: valid until others are. */
const uint8_t *hu_prefetch_sample(const hu_prefetch *ahead, int64_t position);

/* Seconds that hu_prefetch_want has waited so far. */
double hu_prefetch_waited(const hu_prefetch *ahead);

#endif
