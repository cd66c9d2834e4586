/* kernel/draw/draw.h - many random numbers of base/rng.h at once: the same bits, one body per ISA.
 */
#ifndef HU_KERNEL_DRAW_DRAW_H
#define HU_KERNEL_DRAW_DRAW_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/random.h>

#include "base/cpu.h"

/* x[i] = hu_random_normal(key, first + i) */
void hu_draw_normals(const hu_random_key *key, uint64_t first, size_t count, float *x);

/* x[i] = hu_random_uniform(key, first + i) */
void hu_draw_uniforms(const hu_random_key *key, uint64_t first, size_t count, float *x);

/* x[i] = the normal number that words 2i and 2i+1 make. */
typedef void hu_normals_fn(size_t count, const uint32_t *words, float *x);
hu_normals_fn HU_OF_ISA(hu_normals);

#endif
