#include "base/formula.h"

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
