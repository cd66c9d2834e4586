#include "data/sampler.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"

/* ---- buckets ---- */

/* Batches of samples of about one length (Sutskever et al. 2014, section 3.4). */

/* Ascending from 1 on: a bound that no sample can lie under is a mistake. */
static hu_status check_bounds(const int64_t *bound, size_t count) {
    for (size_t b = 0; b < count; b++)
        if (bound[b] < (b > 0 ? bound[b - 1] + 1 : 1))
            return hu_fail(HU_ERR_ARGUMENT,
                           "data.buckets: found %lld as bound %zu, expected ascending lengths from "
                           "1 on",
                           (long long)bound[b], b + 1);
    return HU_OK;
}

static hu_status make_room(hu_buckets *b, bool shuffles) {
    hu_status st;
    HU_TRY(HU_NEW_ARRAY(&b->of, (size_t)b->samples));
    HU_TRY(HU_NEW_ARRAY(&b->grouped, (size_t)b->samples));
    HU_TRY(HU_NEW_ARRAY(&b->taken, b->count));
    HU_TRY(HU_NEW_ARRAY(&b->start, b->count));
    HU_TRY(HU_NEW_ARRAY(&b->whole, b->count));
    HU_TRY(HU_NEW_ARRAY(&b->rest, b->count));
    if (shuffles && b->batches > 0) HU_TRY(HU_NEW_ARRAY(&b->turn, (size_t)b->batches));
done:
    return st;
}

/* Whole batches of all buckets lie first, in the order of buckets; then what is left of each. */
static void lay_out(hu_buckets *b) {
    uint32_t at = 0;
    for (size_t k = 0; k < b->count; k++) {
        b->start[k] = at;
        b->whole[k] = b->taken[k] - (uint32_t)(b->taken[k] % b->batch);
        at += b->whole[k];
    }
    for (size_t k = 0; k < b->count; k++) {
        b->rest[k] = at;
        at += b->taken[k] - b->whole[k];
    }
}

hu_status hu_buckets_create(const int32_t *length, int64_t samples, const int64_t *bound,
                            size_t count, int64_t batch, bool shuffles, hu_buckets *made) {
    *made = (hu_buckets){
        .samples = samples, .batch = batch, .batches = samples / batch, .count = count + 1};
    hu_status st = check_bounds(bound, count);
    if (st == HU_OK) st = make_room(made, shuffles);
    if (st != HU_OK) return st;
    memset(made->taken, 0, made->count * sizeof *made->taken);
    for (int64_t i = 0; i < samples; i++) {
        uint32_t k = 0;
        while (k < count && length[i] > bound[k]) k++;
        made->of[i] = k;
        made->taken[k]++;
    }
    lay_out(made);
    return HU_OK;
}

void hu_buckets_free(hu_buckets *b) {
    uint32_t *owned[] = {b->of, b->taken, b->start, b->whole, b->rest, b->grouped, b->turn};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) hu_free(owned[i]);
    *b = (hu_buckets){0};
}

/* Makes an epoch's order: samples of a bucket come as in place [samples] (NULL: by their number),
 * batches in the permutation of key {seed, "buckets", epoch}. */
static void hu_buckets_begin(hu_buckets *b, const uint32_t *place, uint64_t seed, int64_t epoch) {
    hu_random_key key = {seed, hu_stream_id("buckets", ""), (uint64_t)epoch};
    memset(b->taken, 0, b->count * sizeof *b->taken);
    for (int64_t i = 0; i < b->samples; i++) {
        uint32_t sample = place ? place[i] : (uint32_t)i, k = b->of[sample], n = b->taken[k]++;
        b->grouped[n < b->whole[k] ? b->start[k] + n : b->rest[k] + n - b->whole[k]] = sample;
    }
    if (b->turn) hu_random_permutation(&key, (uint32_t)b->batches, b->turn);
}

/* Which place comes at a position of the epoch. */
static uint32_t hu_buckets_at(const hu_buckets *b, int64_t position) {
    int64_t batch = position / b->batch;
    if (b->turn && batch < b->batches) position += (b->turn[batch] - batch) * b->batch;
    return b->grouped[position];
}

/* ---- Which sample of a part comes at which position of an epoch ---- */

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
static hu_status sort(hu_sampler *order) {
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

static hu_status fill_buckets(hu_sampler *order) {
    const hu_sampler_settings *s = &order->settings;
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

hu_status hu_sampler_create(const hu_split *split, const hu_sampler_settings *settings,
                            hu_sampler *order) {
    hu_status st = HU_OK;
    *order = (hu_sampler){.split = split, .settings = *settings, .epoch = -1};
    if (settings->shuffle) HU_TRY(HU_NEW_ARRAY(&order->place, (size_t)split->count));
    if (settings->sorted_epochs > 0) HU_TRY(sort(order));
    if (settings->bucket_count > 0) HU_TRY(fill_buckets(order));
done:
    return st;
}

void hu_sampler_free(hu_sampler *order) {
    hu_free(order->place);
    hu_free(order->by_length);
    order->place = order->by_length = NULL;
    hu_buckets_free(&order->buckets);
}

void hu_sampler_begin(hu_sampler *order, int64_t epoch) {
    hu_random_key key = {order->settings.seed, hu_stream_id("shuffle", ""), (uint64_t)epoch};
    bool is_new = order->epoch != epoch;
    if (order->place && is_new)
        hu_random_permutation(&key, (uint32_t)order->split->count, order->place);
    if (order->buckets.samples > 0 && is_new)
        hu_buckets_begin(&order->buckets, order->place, order->settings.seed, epoch);
    order->epoch = epoch;
}

int64_t hu_sampler_index(const hu_sampler *order, int64_t position) {
    bool is_sorted = order->epoch < order->settings.sorted_epochs;
    if (!is_sorted && order->buckets.samples > 0)
        return index_of(order->split, hu_buckets_at(&order->buckets, position));
    const uint32_t *place = is_sorted ? order->by_length : order->place;
    return index_of(order->split, place ? place[position] : position);
}
