/* data/buckets.c - an epoch's order in two steps: samples are dealt to the batches of their buckets
 * in the order that shuffling gives them, then whole batches are put into an order of their own.
 * What is left of the buckets lies behind them, so that batches stand on the grid of all other
 * orders: steps of an epoch, resuming and workers know nothing of buckets. */
#include "data/buckets.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"

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

void hu_buckets_begin(hu_buckets *b, const uint32_t *place, uint64_t seed, int64_t epoch) {
    hu_random_key key = {seed, hu_stream_id("buckets", ""), (uint64_t)epoch};
    memset(b->taken, 0, b->count * sizeof *b->taken);
    for (int64_t i = 0; i < b->samples; i++) {
        uint32_t sample = place ? place[i] : (uint32_t)i, k = b->of[sample], n = b->taken[k]++;
        b->grouped[n < b->whole[k] ? b->start[k] + n : b->rest[k] + n - b->whole[k]] = sample;
    }
    if (b->turn) hu_random_permutation(&key, (uint32_t)b->batches, b->turn);
}

uint32_t hu_buckets_at(const hu_buckets *b, int64_t position) {
    int64_t batch = position / b->batch;
    if (b->turn && batch < b->batches) position += (b->turn[batch] - batch) * b->batch;
    return b->grouped[position];
}
