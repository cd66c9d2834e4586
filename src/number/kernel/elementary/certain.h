/* kernel/elementary/certain.h - float32 results whose double need not be known to the last bit.
 *
 * A definition like (float)(x * share(x)) rounds a double that took 26 terms. A polynomial of 16,
 * with fused multiply-adds, is nearer to it than SLACK; where both ends of that interval round to
 * the same float32, the definition's double does, too, since rounding is monotonic. Where they do
 * not (once in about 2^15 numbers) or the argument is out of range, the definition itself decides:
 * the bits are those of the definition, always. Proof: tests/exhaustive/kernel_elementary.c, all
 * float32 numbers. For bodies only: names without prefix.
 */
#ifndef HU_KERNEL_ELEMENTARY_CERTAIN_H
#define HU_KERNEL_ELEMENTARY_CERTAIN_H
#include "kernel/elementary/lanes.h"

#ifdef __FMA__
#define fused(a, b, c) __builtin_fma(a, b, c)
enum { IS_QUICK = 1 };
#else
#define fused(a, b, c) ((a) * (b) + (c))
enum { IS_QUICK = 0 }; /* the library's fma would take longer than the definition */
#endif

/* For definitions: what they need in registers is not kept beside what is nearly always enough. */
#define HU_APART __attribute__((noinline))

/* Numbers that are decided together. */
enum { CERTAIN = 32 };

/* Relative distance of what is below from the definitions: the errors that are named there, twice.
 */
#define SLACK 0x1p-40

/* 0 if every number of the interval rounds to the same float32, which becomes *y; bits else. No
 * comparison: bits are gathered faster than masks. */
HU_INLINE uint32_t open_bits(double low, double high, float *y) {
    *y = (float)low;
    return hu_f32_bits(*y) ^ hu_f32_bits((float)high);
}

/* 0 if |x| <= most, bits else, also for NaN. */
HU_INLINE uint32_t far_bits(float x, float most) {
    return (hu_f32_bits(most) - (hu_f32_bits(x) & 0x7fffffffu)) >> 31;
}

/* e^x, |x| <= 700, but for 2^-45: x = k ln 2 + r, ten terms of r fitted at Chebyshev nodes.
 */
HU_INLINE double near_exp(double x) {
    double whole = fused(x, 0x1.71547652b82fep+0, WHOLE), k = whole - WHOLE;
    double r = fused(-k, HU_LN2_LOW, fused(-k, HU_LN2_HIGH, x)), z = r * r;
    double even = fused(z, 0x1.a17df0d914d6cp-16, 0x1.6c162bb7d965cp-10);
    double odd = fused(z, 0x1.72e107c874de9p-19, 0x1.a01994c849582p-13);
    even = fused(z, even, 0x1.55555588b8403p-5);
    odd = fused(z, odd, 0x1.11111123bf154p-7);
    even = fused(z, even, 0x1.ffffffffe74f1p-2);
    odd = fused(z, odd, 0x1.5555555550d88p-3);
    even = fused(z, even, 0x1.000000000003dp+0);
    odd = fused(z, odd, 0x1.0000000000006p+0);
    return hu_f64_of_bits(hu_f64_bits(fused(r, odd, even)) + (hu_f64_bits(whole) << 52));
}

enum { SHARE_TERMS = 16 };

/* e^(x^2 / 2) times the share of a normal law that lies above x, 0 <= x <= 8, but for 2^-46:
 * sum of TERM_i s^i, s = 5 / (5 + x), fitted at Chebyshev nodes. */
static const double share_terms[SHARE_TERMS] = {
    -0x1.fc3bdce3245a6p-19, 0x1.47395e63562edp-4, 0x1.41c16371c073fp-4,  0x1.6037e7b88f53fp-4,
    0x1.55b1dba4e8812p-6,   0x1.00cfdd0ecbc02p-2, -0x1.00e211fc2bd5ap-1, 0x1.45580b00ed051p+0,
    -0x1.0e591df973bc1p+1,  0x1.70f002d2a87abp+1, -0x1.77a1747568214p+1, 0x1.208417066d5f9p+1,
    -0x1.3b9f921293db6p+0,  0x1.c48d76a4d27b8p-2, -0x1.7aee0bbaa8268p-4, 0x1.19ad450caae60p-7};

/* The share of a normal law that lies below x, |x| <= 8; power: e^(-x^2 / 2). */
HU_INLINE double near_share(double x, double power) {
    double s = 5.0 / (5.0 + __builtin_fabs(x)), z = s * s;
    double even = share_terms[SHARE_TERMS - 2], odd = share_terms[SHARE_TERMS - 1];
    HU_UNROLL
    for (int i = SHARE_TERMS - 4; i >= 0; i -= 2) {
        even = fused(z, even, share_terms[i]);
        odd = fused(z, odd, share_terms[i + 1]);
    }
    double above = fused(s, odd, even) * power;
    return x < 0 ? above : 1.0 - above;
}

#endif
