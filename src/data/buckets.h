/* data/buckets.h - batches of samples of about one length (Sutskever et al. 2014, section 3.4). */
#ifndef HU_DATA_BUCKETS_H
#define HU_DATA_BUCKETS_H
#include <halfulp/data.h>

/* The order of an epoch by buckets. A sample lies in the first bucket whose bound its length does
 * not exceed, or behind the last one. Each bucket is cut into whole batches; what is left of all of
 * them, shorter ones first, makes the others, of which the very last may be smaller. */
typedef struct hu_buckets {
    int64_t samples, batch, batches; /* batches: whole ones */
    size_t count;                    /* bounds and one more */
    uint32_t *of;                    /* [samples] bucket of a place */
    uint32_t *taken;                 /* [count] samples so far, while an epoch is made */
    uint32_t *start, *whole, *rest;  /* [count] place in grouped of its whole batches, how many
                                        samples they have, and place of what is left */
    uint32_t *grouped;               /* [samples] places, batch by batch */
    uint32_t *turn;                  /* [batches] which batch comes when; NULL: as they lie */
} hu_buckets;

/* Sorts samples into buckets.
 *
 *   length    [samples] of the sample at each place
 *   bound     [count] ascending, at least 1
 *   shuffles  whether batches come in a random order
 *
 * HU_ERR_ARGUMENT for bounds that do not ascend; HU_ERR_MEMORY. Owner frees with hu_buckets_free,
 * also on failure. */
hu_status hu_buckets_create(const int32_t *length, int64_t samples, const int64_t *bound,
                            size_t count, int64_t batch, bool shuffles, hu_buckets *made);
void hu_buckets_free(hu_buckets *buckets);

/* Makes an epoch's order: samples of a bucket come as in place [samples] (NULL: by their number),
 * batches in the permutation of key {seed, "buckets", epoch}. */
void hu_buckets_begin(hu_buckets *buckets, const uint32_t *place, uint64_t seed, int64_t epoch);

/* Which place comes at a position of the epoch. */
uint32_t hu_buckets_at(const hu_buckets *buckets, int64_t position);

#endif
