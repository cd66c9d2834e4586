#include "base/rng.h"

#include <Random123/threefry.h>
#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "base/elementary.h"

/* A stream is a name, not a number given out: adding a tensor moves no other stream. */
uint64_t hu_stream_id(const char *purpose, const char *name) {
    if (!purpose) purpose = "";
    if (!name) name = "";
    uint64_t seed = XXH64(purpose, strlen(purpose), 0);
    return XXH64(name, strlen(name), seed);
}

/* Counter (block, step) under key (seed, stream): any word is made without those before it. */
void hu_random_block(const hu_random_key *key, uint64_t block, uint32_t words[4]) {
    threefry4x32_key_t k = {{(uint32_t)key->seed, (uint32_t)(key->seed >> 32),
                             (uint32_t)key->stream, (uint32_t)(key->stream >> 32)}};
    threefry4x32_ctr_t c = {{(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)key->step,
                             (uint32_t)(key->step >> 32)}};
    threefry4x32_ctr_t r = threefry4x32_R(12, c, k);
    memcpy(words, r.v, sizeof r.v);
}

uint32_t hu_random_word(const hu_random_key *key, uint64_t index) {
    uint32_t words[4];
    hu_random_block(key, index / 4, words);
    return words[index % 4];
}

void hu_random_words(const hu_random_key *key, uint64_t first, uint64_t count, uint32_t *words) {
    /* Words come four at a time; the first and the last block may be used in part. */
    uint32_t block[4];
    for (uint64_t done = 0; done < count;) {
        uint64_t offset = (first + done) % 4;
        hu_random_block(key, (first + done) / 4, block);
        for (; offset < 4 && done < count; offset++) words[done++] = block[offset];
    }
}

/* 24 bits: every multiple of 2^-24 in [0, 1), exact in float32. */
float hu_random_uniform(const hu_random_key *key, uint64_t index) {
    return (float)(hu_random_word(key, index) >> 8) * 0x1p-24f;
}

/* Box and Muller (1958), one of its two numbers; u lies in (0, 1], so that log(u) is finite. */
float hu_random_normal(const hu_random_key *key, uint64_t index) {
    uint32_t words[4];
    hu_random_block(key, index / 2, words);
    const uint32_t *pair = words + 2 * (index % 2);
    /* In (0, 1]: the logarithm of 0 is never taken. */
    double u = ((double)pair[0] + 1.0) * 0x1p-32;
    return (float)(sqrt(-2.0 * hu_log(u)) * hu_cos_turns(pair[1]));
}

/* floor(word * bound / 2^64): biased by less than bound / 2^64, and without a loop. */
uint64_t hu_random_below(const hu_random_key *key, uint64_t index, uint64_t bound) {
    uint32_t words[4];
    hu_random_block(key, index / 2, words);
    const uint32_t *pair = words + 2 * (index % 2);
    /* The high half of word x bound (Lemire, ACM TOMACS 29(1), 2019), without the rejection step: a
     * number's probability is off by at most 2^-64. */
    uint64_t word = (uint64_t)pair[0] << 32 | pair[1];
    return (uint64_t)((unsigned __int128)word * bound >> 64);
}

/* Fisher and Yates, from the end; word i decides place i. */
void hu_random_permutation(const hu_random_key *key, uint32_t count, uint32_t *order) {
    for (uint32_t i = 0; i < count; i++) order[i] = i;
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = (uint32_t)hu_random_below(key, i, i);
        uint32_t kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
}

/* ---- formula ---- */

/* Numbers that are a function of a name and an index, so that any other program
 * can make the same ones: the start and the noise of check runs.
 *
 * word(name, i) mixes the 32-bit FNV-1a hash of the name with i; number(name, i) = (word >> 8)
 * 2^-23 - 1 is a multiple of 2^-23 in [-1, 1), exact in float32.
 */

/* FNV-1a. */
uint32_t hu_formula_hash(uint32_t before, const char *text) {
    for (; *text; text++) before = (before ^ (uint8_t)*text) * 0x01000193u;
    return before;
}

/* The finaliser of MurmurHash3. */
uint32_t hu_formula_word(uint32_t hash, uint32_t i) {
    uint32_t x = hash + i * 0x9E3779B9u;
    x = (x ^ x >> 16) * 0x85EBCA6Bu;
    x = (x ^ x >> 13) * 0xC2B2AE35u;
    return x ^ x >> 16;
}

float hu_formula_number(uint32_t hash, uint32_t i) {
    return (float)(hu_formula_word(hash, i) >> 8) * 0x1p-23f - 1.0f;
}

/* ---- log uniform ---- */

/* The log-uniform law of ids that are sorted by falling frequency: P(v) =
 * log((v + 2) / (v + 1)) / log(n + 1) for v = 0 .. n-1, close to that of words (Zipf). */

double hu_log_uniform_share(int64_t id, int64_t n) {
    return hu_log1p(1.0 / ((double)id + 1.0)) / hu_log((double)n + 1.0);
}

int64_t hu_log_uniform_id(double u, int64_t n) {
    int64_t id = (int64_t)hu_exp(u * hu_log((double)n + 1.0)) - 1;
    if (id < 0) return 0;
    return id < n ? id : n - 1;
}
