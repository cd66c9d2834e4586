/* kernel/wire/plain.h - the arithmetic of wire.h composed of rounder and packer, in blocks that
 * stay in the first-level cache: any format, any mode. What the fast kernels must equal. */
#ifndef HU_KERNEL_WIRE_PLAIN_H
#define HU_KERNEL_WIRE_PLAIN_H
#include "kernel/wire/prepared.h"

/* A packer of codes of the format, with the code of wire.h for NaNs. Errors as hu_packer_init. */
hu_status hu_wire_packer_init(hu_packer *packer, const hu_format *format, int code_bits);

/* As the functions of wire.h; k is clamped already. */
void hu_wire_quantise_plain(const hu_wire *wire, size_t n, const float *x, int32_t k, void *codes,
                            const hu_random_key *key, uint64_t first_index,
                            hu_round_counts *counts);
void hu_wire_decode_plain(const hu_wire *wire, size_t n, const void *codes, int32_t k, float *y);
void hu_wire_add_plain(const hu_wire *wire, size_t n, const void *a, void *sum,
                       const hu_random_key *key, uint64_t first_index, hu_round_counts *counts);

#endif
