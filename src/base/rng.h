/* base/rng.h - random numbers without state: word = f(seed, stream, step, index).
 * Threefry4x32 with 12 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
 * 2011).
 */
#ifndef HU_BASE_RNG_H
#define HU_BASE_RNG_H
#include <stdint.h>

#include <halfulp/random.h>

/* Words 4*block .. 4*block+3 of the sequence. */
void hu_random_block(const hu_random_key *key, uint64_t block, uint32_t words[4]);

/* Word number index of the sequence. */
uint32_t hu_random_word(const hu_random_key *key, uint64_t index);

/* words[i] = word first + i. */
void hu_random_words(const hu_random_key *key, uint64_t first, uint64_t count, uint32_t *words);

/* floor(bound word / 2^32), of a word of these: 0..bound-1; bound >= 1. */
static inline int64_t hu_word_below(uint32_t word, int64_t bound) {
    return (int64_t)((uint64_t)word * (uint64_t)bound >> 32);
}

/* word / 2^32, exact: 0 or more, below 1. */
static inline double hu_word_share(uint32_t word) {
    return (double)word * 0x1p-32;
}

/* Uniform on [0, 1): 24 bits of word number index. */
float hu_random_uniform(const hu_random_key *key, uint64_t index);

/* Standard normal number from words 2*index and 2*index+1 (Box-Muller, in double, without
 * libm: the same bits on every machine). */
float hu_random_normal(const hu_random_key *key, uint64_t index);

/* Uniform on 0..bound-1 without bias worth speaking of (64-bit multiply-shift of words 2*index,
 * 2*index+1); bound >= 1. */
uint64_t hu_random_below(const hu_random_key *key, uint64_t index, uint64_t bound);

/* order[count]: the permutation of 0..count-1 that the key names (Fisher-Yates). */
void hu_random_permutation(const hu_random_key *key, uint32_t count, uint32_t *order);

#endif
