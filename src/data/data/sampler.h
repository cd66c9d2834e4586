/* data/sampler.h - the order of samples in an epoch, and buckets of like lengths. */
#ifndef HU_DATA_SAMPLER_H
#define HU_DATA_SAMPLER_H
#include <halfulp/data.h>

/* ---- buckets ---- */

/* Batches of samples of about one length (Sutskever et al. 2014, section 3.4). */

/* The order of an epoch by buckets. A sample lies in the first bucket whose bound its length does
 * not exceed, or after the last one. Each bucket is cut into whole batches; what is left of all of
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

/* ---- Which sample of a part comes at which position of an epoch ---- */

typedef struct hu_sampler_settings {
    uint64_t seed;
    bool shuffle;
    int64_t sorted_epochs;  /* the first ones, see hu_loader_settings */
    const int64_t *buckets; /* [bucket_count] likewise. Borrowed: needed while the order is made */
    size_t bucket_count;
    int64_t batch;
} hu_sampler_settings;

typedef struct hu_sampler {
    const hu_split *split;
    hu_sampler_settings settings;
    int64_t epoch;       /* -1: none has begun */
    uint32_t *place;     /* [count], NULL: file order */
    uint32_t *by_length; /* [count] of epochs that are sorted, NULL: none are */
    hu_buckets buckets;  /* of those that are not; samples 0: there are none */
} hu_sampler;

/* HU_ERR_ARGUMENT where samples that have no length are to be sorted or put into buckets, and for
 * bounds of these that do not ascend; HU_ERR_MEMORY.
 * Owner frees with hu_sampler_free, also on failure. */
hu_status hu_sampler_create(const hu_split *split, const hu_sampler_settings *settings,
                            hu_sampler *order);
void hu_sampler_free(hu_sampler *order);

/* Puts the samples into the order of an epoch: the permutation of key {seed, "shuffle", epoch}, or
 * that of their lengths, or that of their buckets. All follow from the epoch alone, so that one is
 * the same whether or not those before it were run. */
void hu_sampler_begin(hu_sampler *order, int64_t epoch);

/* Index of the sample at a position in the split's rows, source or reader. */
int64_t hu_sampler_index(const hu_sampler *order, int64_t position);

#endif
