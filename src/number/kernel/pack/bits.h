/* kernel/pack/bits.h - codes of 1 and 2 bytes as a dense stream of their low bits, the least
 * significant bit first, from a byte boundary on. */
#ifndef HU_KERNEL_PACK_BITS_H
#define HU_KERNEL_PACK_BITS_H
#include <stddef.h>
#include <stdint.h>

/* n codes of code_bytes bytes (1 or 2) <-> their low `width` bits, 4 (code_bytes - 1) < width <
 * 8 code_bytes. Writes and reads no byte after the last code's. */
void hu_join_bits(size_t n, const void *codes, size_t code_bytes, uint32_t width, void *bytes);
void hu_split_bits(size_t n, const void *bytes, uint32_t width, void *codes, size_t code_bytes);

/* The first codes of these, of 1 byte, by vectors. They return how many they did, a multiple of 8,
 * and neither read nor write after the end of n. */
size_t hu_join_bytes_avx2(size_t n, const uint8_t *codes, uint32_t width, uint8_t *bytes);
size_t hu_split_bytes_avx2(size_t n, const uint8_t *bytes, uint32_t width, uint8_t *codes);

#endif
