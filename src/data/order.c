#include "data/order.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"

/* By index: what the data set says, else lengths of the first ragged field; NULL: there are none.
 */
static const int32_t *lengths_of(const hu_split *split) {
    if (split->rows_taken) return split->rows_taken;
    for (int f = 0; f < HU_FIELDS_MAX; f++)
        if (split->length[f]) return split->length[f];
    return NULL;
}

static int64_t index_of(const hu_split *split, int64_t place) {
    return split->index ? split->index[place] : place;
}

static int compare(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* order->by_length: the places in ascending order of length, then of place. */
static hu_status sort(hu_order *order) {
    const hu_split *split = order->split;
    const int32_t *length = lengths_of(split);
    size_t count = (size_t)split->count;
    uint64_t *key = NULL; /* length, place */
    hu_status st;
    if (!length)
        return hu_fail(HU_ERR_ARGUMENT,
                       "data.sorted: found %lld epochs of samples without lengths, expected 0",
                       (long long)order->settings.sorted_epochs);
    HU_TRY(HU_NEW_ARRAY(&key, count));
    HU_TRY(HU_NEW_ARRAY(&order->by_length, count));
    for (size_t i = 0; i < count; i++)
        key[i] = (uint64_t)length[index_of(split, (int64_t)i)] << 32 | i;
    qsort(key, count, sizeof *key, compare);
    for (size_t i = 0; i < count; i++) order->by_length[i] = (uint32_t)key[i];
done:
    hu_free(key);
    return st;
}

static hu_status fill_buckets(hu_order *order) {
    const hu_order_settings *s = &order->settings;
    const int32_t *of_index = lengths_of(order->split);
    int32_t *length = NULL; /* by place */
    hu_status st;
    if (!of_index)
        return hu_fail(HU_ERR_ARGUMENT,
                       "data.buckets: found %zu bounds for samples without lengths, expected none",
                       s->bucket_count);
    HU_TRY(HU_NEW_ARRAY(&length, (size_t)order->split->count));
    for (int64_t i = 0; i < order->split->count; i++)
        length[i] = of_index[index_of(order->split, i)];
    st = hu_buckets_create(length, order->split->count, s->buckets, s->bucket_count, s->batch,
                           s->shuffle, &order->buckets);
done:
    hu_free(length);
    return st;
}

hu_status hu_order_create(const hu_split *split, const hu_order_settings *settings,
                          hu_order *order) {
    hu_status st = HU_OK;
    *order = (hu_order){.split = split, .settings = *settings, .epoch = -1};
    if (settings->shuffle) HU_TRY(HU_NEW_ARRAY(&order->place, (size_t)split->count));
    if (settings->sorted_epochs > 0) HU_TRY(sort(order));
    if (settings->bucket_count > 0) HU_TRY(fill_buckets(order));
done:
    return st;
}

void hu_order_free(hu_order *order) {
    hu_free(order->place);
    hu_free(order->by_length);
    order->place = order->by_length = NULL;
    hu_buckets_free(&order->buckets);
}

void hu_order_begin(hu_order *order, int64_t epoch) {
    hu_random_key key = {order->settings.seed, hu_stream_id("shuffle", ""), (uint64_t)epoch};
    bool is_new = order->epoch != epoch;
    if (order->place && is_new)
        hu_random_permutation(&key, (uint32_t)order->split->count, order->place);
    if (order->buckets.samples > 0 && is_new)
        hu_buckets_begin(&order->buckets, order->place, order->settings.seed, epoch);
    order->epoch = epoch;
}

int64_t hu_order_index(const hu_order *order, int64_t position) {
    bool is_sorted = order->epoch < order->settings.sorted_epochs;
    if (!is_sorted && order->buckets.samples > 0)
        return index_of(order->split, hu_buckets_at(&order->buckets, position));
    const uint32_t *place = is_sorted ? order->by_length : order->place;
    return index_of(order->split, place ? place[position] : position);
}
