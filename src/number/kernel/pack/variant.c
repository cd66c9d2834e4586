/* kernel/pack/variant.c - codes from member values and back, in portable C, compiled once per
 * instruction set.
 * Branch-free; magnitudes stay below 2^31 and are compared as signed numbers. Assumes the default
 * floating-point environment: nearest even, subnormals kept. */
#include "base/bits.h"
#include "kernel/lane.h"
#include "kernel/pack/pack.h"

#define HU_JOIN4(a, b, c) a##b##_##c
#define HU_NAME4(a, b, c) HU_JOIN4(a, b, c)

/* Code of one member value. Subnormals: the sum with 2^(emin+23-m) is exact, and its last bits
 * count quanta. */
HU_INLINE uint32_t encode(const hu_packer *c, uint32_t bits, int is_plain) {
    uint32_t sign = bits & HU_F32_SIGN, u = bits ^ sign;
    uint32_t normal = (u - c->rebias) >> c->drop;
    uint32_t subnormal =
        hu_f32_bits(hu_f32_of_bits(u) + hu_f32_of_bits(c->grid_bits)) - c->grid_bits;
    uint32_t magnitude = pick(is_less(u, c->min_normal_bits), subnormal, normal);
    uint32_t is_nan = is_less(HU_F32_INFINITY, u);
    /* Infinities and NaNs have exponents that no finite code has: their codes are constants. */
    uint32_t special = pick(is_nan, c->nan_code, c->infinity_code);
    magnitude = pick(is_less(u, HU_F32_INFINITY), magnitude, special);
    /* Formats without -0, or whose NaN has no sign, drop the sign there. */
    uint32_t keeps = HU_F32_SIGN;
    if (!is_plain) keeps = pick(is_nan, c->nan_sign, pick(u == 0, c->zero_sign, HU_F32_SIGN));
    return magnitude | (sign & keeps) >> c->sign_shift;
}

/* Value of one code; bits above the code's own are ignored. */
HU_INLINE uint32_t decode(const hu_packer *c, uint32_t code, int is_plain) {
    uint32_t magnitude = code & c->magnitude_mask;
    uint32_t sign = (code << c->sign_shift) & HU_F32_SIGN;
    /* Normal: move the fraction up and the bias to 127. Subnormal: m bits above the grid's
     * 2^(emin+23-m). */
    uint32_t normal = (magnitude << c->drop) + c->rebias;
    uint32_t subnormal =
        hu_f32_bits(hu_f32_of_bits(c->grid_bits + magnitude) - hu_f32_of_bits(c->grid_bits));
    if (!is_plain) subnormal &= c->subnormal_mask;
    uint32_t bits = pick(is_less(magnitude, c->hidden), subnormal, normal);
    uint32_t special = pick(is_less(magnitude, c->first_nan), HU_F32_INFINITY, HU_F32_NAN);
    bits = pick(is_less(c->code_max, magnitude), special, bits);
    if (is_plain) return sign | bits;
    uint32_t zero =
        pick(magnitude == 0, c->minus_zero, HU_F32_SIGN & c->zero_sign) & (0 - (sign >> 31));
    return pick(bits == 0, zero, sign | bits);
}

/* Infinities and NaNs of x[n] are added to unencodable[0] and [1]. */
HU_INLINE void count_special(size_t n, const float *x, uint64_t unencodable[2]) {
    enum { PART = 1 << 20 }; /* fits 32-bit lane counters */
    for (size_t at = 0; at < n; at += PART) {
        size_t end = n - at < PART ? n : at + PART;
        uint32_t special = 0, nan = 0;
#pragma omp simd reduction(+ : special, nan)
        for (size_t i = at; i < end; i++) {
            uint32_t u = hu_f32_bits(x[i]) & ~HU_F32_SIGN;
            special += 1 - is_less(u, HU_F32_INFINITY);
            nan += is_less(HU_F32_INFINITY, u);
        }
        unencodable[0] += special - nan;
        unencodable[1] += nan;
    }
}

#define HU_PACK_BITS 8
#include "kernel/pack/width.inc"
#undef HU_PACK_BITS
#define HU_PACK_BITS 16
#include "kernel/pack/width.inc"
#undef HU_PACK_BITS
#define HU_PACK_BITS 32
#include "kernel/pack/width.inc"
#undef HU_PACK_BITS
