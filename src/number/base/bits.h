/* base/bits.h - binary32 and binary64 numbers as bit patterns. */
#ifndef HU_BASE_BITS_H
#define HU_BASE_BITS_H
#include <stdint.h>
#include <string.h>

/* Fields of binary32 (IEEE 754-2019, 3.4): 1 sign bit, 8 exponent bits, 23 bits of fraction. The
 * first fraction bit of a NaN tells quiet from signalling (6.2.1). */
#define HU_F32_SIGN 0x80000000u
#define HU_F32_INFINITY 0x7F800000u
#define HU_F32_NAN 0x7FC00000u /* positive quiet NaN without payload */
#define HU_F32_QUIET 0x00400000u

/* memcpy keeps every pattern, NaNs included, and no rule of aliasing forbids it; compilers make
 * one move of it. */
static inline uint32_t hu_f32_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float hu_f32_of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint64_t hu_f64_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double hu_f64_of_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#endif
