/* What the models of docs/reference/numerics/sums.md, "Reductions", share: bits compared, and the
 * tree over the chunks. Nothing here shares code with the kernels. */
#ifndef HU_TEST_PAGE_SUMS_H
#define HU_TEST_PAGE_SUMS_H
#include "op_drive.h"

enum { MOST_CHUNKS = 16 };

static inline void same_bits(const char *what, int64_t n, const float *found,
                             const float *expected) {
    for (int64_t i = 0; i < n; i++)
        if (memcmp(found + i, expected + i, sizeof *found) != 0)
            fail_msg("%s, number %lld: found %a, by the page %a", what, (long long)i,
                     (double)found[i], (double)expected[i]);
}

static inline float *floats(int64_t n) {
    void *block;
    assert_int_equal(hu_alloc((size_t)n * sizeof(float), &block), HU_OK);
    return block;
}

/* Chunk c of the batch: its first sample and their number. */
static inline int64_t chunk_begin(const drive *d, int64_t c) {
    return c * d->chunk;
}
static inline int64_t chunk_count(const drive *d, int64_t c) {
    int64_t left = d->batch - c * d->chunk;
    return left < d->chunk ? left : d->chunk;
}

/* The tree over the chunks, for one number of each. */
static inline double tree(int64_t chunks, double *r) {
    assert_true(chunks > 0 && chunks <= MOST_CHUNKS);
    for (int64_t distance = 1; distance < chunks; distance *= 2)
        for (int64_t i = 0; i + distance < chunks; i += 2 * distance) r[i] += r[i + distance];
    return r[0];
}

static inline float float_tree(int64_t chunks, float *r) {
    assert_true(chunks > 0 && chunks <= MOST_CHUNKS);
    for (int64_t distance = 1; distance < chunks; distance *= 2)
        for (int64_t i = 0; i + distance < chunks; i += 2 * distance) r[i] += r[i + distance];
    return r[0];
}

#endif
