/* kernel/table/pack_variant.c - codes of numbers of a table and back, in portable C, compiled once
 * per instruction set. Members of the table are their own nearest number. */
#include <string.h>

#include "kernel/pack/pack.h"
#include "kernel/table/lookup.h"

#define HU_JOIN4(a, b, c) a##b##_##c
#define HU_NAME4(a, b, c) HU_JOIN4(a, b, c)

static void count_special(size_t n, const float *x, uint64_t unencodable[2]) {
    uint64_t infinite = 0, nan = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t u = hu_f32_bits(x[i]) & ~HU_F32_SIGN;
        infinite += u == HU_F32_INFINITY;
        nan += u > HU_F32_INFINITY;
    }
    unencodable[0] += infinite;
    unencodable[1] += nan;
}

/* Whether a magnitude of x[n] other than 0 is below `low`. */
HU_INLINE bool has_low(uint32_t low, size_t n, const float *x) {
    uint32_t under = UINT32_MAX;
    if (low == 0) return false;
#pragma omp simd reduction(min : under)
    for (size_t i = 0; i < n; i++) under = least_of(under, (hu_f32_bits(x[i]) & ~HU_F32_SIGN) - 1);
    return under < low - 1;
}

enum { TURN = 8 }; /* numbers of a turn of a loop */

/* Bits without the scale. */
HU_INLINE uint32_t whole_of(const constants *c, bool is_scaled, float x) {
    uint32_t bits = hu_f32_bits(x), u = bits & ~HU_F32_SIGN;
    return is_scaled ? (bits & HU_F32_SIGN) | unscaled(c, true, u) : bits;
}

#define HU_PACK_BITS 8
#include "kernel/table/width.inc"
#undef HU_PACK_BITS
#define HU_PACK_BITS 16
#include "kernel/table/width.inc"
#undef HU_PACK_BITS
#define HU_PACK_BITS 32
#include "kernel/table/width.inc"
