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

/* ---- formula ---- */

/* Numbers that are a function of a name and an index, so that any other program
 * can make the same ones: the start and the noise of check runs.
 *
 * word(name, i) mixes the 32-bit FNV-1a hash of the name with i; number(name, i) = (word >> 8)
 * 2^-23 - 1 is a multiple of 2^-23 in [-1, 1), exact in float32.
 */

/* Hash of a text that stands after others: the first one after HU_FORMULA_HASH_START. */
#define HU_FORMULA_HASH_START 0x811C9DC5u
uint32_t hu_formula_hash(uint32_t before, const char *text);

/* Word and number i of the name that has this hash. */
uint32_t hu_formula_word(uint32_t hash, uint32_t i);
float hu_formula_number(uint32_t hash, uint32_t i);

/* ---- log uniform ---- */

/* The log-uniform law of ids that are sorted by falling frequency: P(v) =
 * log((v + 2) / (v + 1)) / log(n + 1) for v = 0 .. n-1, close to that of words (Zipf). */

/* P(id) among n ids, in double without libm: the same bits on every machine. */
double hu_log_uniform_share(int64_t id, int64_t n);

/* The id of a uniform number 0 <= u < 1: floor((n + 1)^u) - 1, at most n - 1. Ids ascend with u. */
int64_t hu_log_uniform_id(double u, int64_t n);

#endif
