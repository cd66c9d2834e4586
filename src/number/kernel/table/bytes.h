/* kernel/table/bytes.h - kernels that look up 64 bytes at a time (AVX-512 VBMI), for tables of up
 * to 8 bits whose steps have bytes (format/table/bytes.h). Same bits, codes and counts as
 * variant.c, pack_variant.c and planes_avx512.c, which serve machines without.
 */
#ifndef HU_KERNEL_TABLE_BYTES_H
#define HU_KERNEL_TABLE_BYTES_H
#include <stdbool.h>

#include "kernel/encode/encode.h"

#if defined(__x86_64__)
hu_round_fn hu_round_bytes_vbmi;
hu_encode_fn hu_encode_bytes_vbmi, hu_encode_members_vbmi;
hu_pack_fn hu_pack_bytes_vbmi;
hu_unpack_fn hu_unpack_bytes_vbmi;
#endif

#endif
