/* base/formula.h - numbers that are a function of a name and an index, so that any other program
 * can make the same ones: the start and the noise of check runs.
 *
 * word(name, i) mixes the 32-bit FNV-1a hash of the name with i; number(name, i) = (word >> 8)
 * 2^-23 - 1 is a multiple of 2^-23 in [-1, 1), exact in float32.
 */
#ifndef HU_BASE_FORMULA_H
#define HU_BASE_FORMULA_H
#include <stdint.h>

/* Hash of a text that stands behind others: the first one behind HU_FORMULA_HASH_START. */
#define HU_FORMULA_HASH_START 0x811C9DC5u
uint32_t hu_formula_hash(uint32_t before, const char *text);

/* Word and number i of the name that has this hash. */
uint32_t hu_formula_word(uint32_t hash, uint32_t i);
float hu_formula_number(uint32_t hash, uint32_t i);

#endif
