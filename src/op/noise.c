#include "op/noise.h"

#include "base/rng.h"

uint32_t hu_noise_word(const hu_noise *noise, int64_t i) {
    uint64_t at = noise->first + (uint64_t)i;
    if (noise->call->by_formula) return hu_formula_word(noise->hash, (uint32_t)at);
    return hu_random_word(&noise->call->key, at);
}
