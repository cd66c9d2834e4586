/* data/order.h - which sample of a part comes at which position of an epoch. */
#ifndef HU_DATA_ORDER_H
#define HU_DATA_ORDER_H
#include "data/buckets.h"

typedef struct hu_order_settings {
    uint64_t seed;
    bool shuffle;
    int64_t sorted_epochs;  /* the first ones, see hu_loader_settings */
    const int64_t *buckets; /* [bucket_count] likewise. Borrowed: needed while the order is made */
    size_t bucket_count;
    int64_t batch;
} hu_order_settings;

typedef struct hu_order {
    const hu_split *split;
    hu_order_settings settings;
    int64_t epoch;       /* -1: none has begun */
    uint32_t *place;     /* [count], NULL: file order */
    uint32_t *by_length; /* [count] of epochs that are sorted, NULL: none are */
    hu_buckets buckets;  /* of those that are not; samples 0: there are none */
} hu_order;

/* HU_ERR_ARGUMENT where samples that have no length are to be sorted or put into buckets, and for
 * bounds of these that do not ascend; HU_ERR_MEMORY.
 * Owner frees with hu_order_free, also on failure. */
hu_status hu_order_create(const hu_split *split, const hu_order_settings *settings,
                          hu_order *order);
void hu_order_free(hu_order *order);

/* Puts the samples into the order of an epoch: the permutation of key {seed, "shuffle", epoch}, or
 * that of their lengths, or that of their buckets. All follow from the epoch alone, so that one is
 * the same whether or not those before it were run. */
void hu_order_begin(hu_order *order, int64_t epoch);

/* Index of the sample at a position in the split's rows, source or reader. */
int64_t hu_order_index(const hu_order *order, int64_t position);

#endif
