/* kernel/encode/vector.h - what the kernels of all instruction sets share. For kernels only: names
 * without prefix. */
#ifndef HU_KERNEL_ENCODE_VECTOR_H
#define HU_KERNEL_ENCODE_VECTOR_H
#include <stdbool.h>

#include "base/bits.h"
#include "kernel/encode/encode.h"
#include "kernel/lane.h"
#include "kernel/round/tally.h"

/* Loops of their own: bits of a code, and by which route numbers are rounded. */
typedef enum code_kind { BITS_8, BITS_16, HALF_OF_32 } code_kind;

HU_INLINE code_kind kind_of(const hu_rounder *r, const hu_packer *p) {
    if (p->code_bits == 8) return BITS_8;
    return r->route == HU_ROUTE_ALIGNED ? HALF_OF_32 : BITS_16;
}

/* A code in all places of a word. */
HU_INLINE uint32_t repeated(const hu_packer *p, uint32_t code) {
    return code * (p->code_bits == 8 ? 0x01010101u : 0x00010001u);
}

/* Code of what overflows become, without its sign, as the packer gives it. */
static inline uint32_t overflow_code(const hu_rounder *r, const hu_packer *p) {
    float value = hu_f32_of_bits(r->overflow_value[0] & ~HU_F32_SIGN);
    union {
        uint8_t of_8;
        uint16_t of_16;
    } code;
    hu_packer_pack(p, 1, &value, &code, NULL);
    return p->code_bits == 8 ? code.of_8 : code.of_16;
}

#endif
