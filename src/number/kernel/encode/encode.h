/* kernel/encode/encode.h - rounding, counting and packing in one pass, from a prepared rounder and
 * packer. The composition of both is the definition; kernels give its bits, codes and counts.
 * Thread-safe: rounder and packer are read only.
 */
#ifndef HU_KERNEL_ENCODE_H
#define HU_KERNEL_ENCODE_H
#include "kernel/pack/pack.h"
#include "kernel/round/round.h"

/* Rounds x[n] to y[n], packs y into codes, and adds to counts.
 *
 *   packer         of the format that the rounder's numbers are stored in
 *   y              x itself or not overlapping it; NULL: the rounded numbers are not wanted
 *   codes          hu_packer_bytes(n) bytes
 *   key, first, counts   as hu_rounder_run
 *
 * Proof: tests/exhaustive/kernel_encode.c. */
void hu_encode(const hu_rounder *rounder, const hu_packer *packer, size_t n, const float *x,
               float *y, void *codes, const hu_random_key *key, uint64_t first,
               hu_round_counts *counts);

/* The same of numbers that the rounder leaves as they are. */
void hu_encode_on_grid(const hu_rounder *rounder, const hu_packer *packer, size_t n, const float *x,
                       void *codes, hu_round_counts *counts);

/* The definition of hu_encode: hu_rounder_run and hu_packer_pack, part by part. */
void hu_encode_plain(const hu_rounder *rounder, const hu_packer *packer, size_t n, const float *x,
                     float *y, void *codes, const hu_random_key *key, uint64_t first,
                     hu_round_counts *counts);

/* True if kernels for floats serve the two: codes of 8 or 16 bits of the rounder's own format, as
 * wide as the codes, which has subnormals and both zeros, to nearest-even by the route MAGIC, of 16
 * bits also by ALIGNED. Tables of up to 8 bits in codes of 8 have kernels of their own
 * (kernel/table), in every mode but stochastic ones. */
int hu_encode_serves(const hu_rounder *rounder, const hu_packer *packer);

/* A kernel for these; n a multiple of HU_ENCODE_GROUP. */
enum { HU_ENCODE_GROUP = 64 };
typedef void hu_encode_fn(const hu_rounder *rounder, const hu_packer *packer, size_t n,
                          const float *x, float *y, void *codes, hu_round_counts *counts);

#endif
