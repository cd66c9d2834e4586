/* kernel/block/scale.h - power-of-two scales of whole tensors: x is rounded to the numbers 2^k f of
 * a format's numbers f, which are those of the same format with the bias lowered by k. So scaled
 * rounding and packing are the plain kernels with another bias, exact wherever binary32 is.
 */
#ifndef HU_KERNEL_BLOCK_SCALE_H
#define HU_KERNEL_BLOCK_SCALE_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/format.h>

/* Where a tensor's k comes from. */
typedef enum hu_scale_rule {
    HU_SCALE_NONE,    /* k = 0 */
    HU_SCALE_CURRENT, /* least k for which the tensor's largest finite magnitude does not exceed the
                         largest finite number */
    HU_SCALE_DELAYED, /* the same of the largest magnitude of earlier steps */
    HU_SCALE_BIAS /* additional bias b = floor(2^(e-1) - log2 of the largest magnitude), which is
                     taken as at least 2^-100. Source: Lee et al., released code, dynamic bias */
} hu_scale_rule;

/* Bits of the largest finite magnitude of x[n]; 0: all are zero, infinite or NaN. */
uint32_t hu_top_f32(size_t n, const float *x);

/* k for a largest magnitude given by its bits, clamped so that all numbers of the scaled format are
 * binary32's: emax + k <= 127, emin - m + k >= -149. k = 0 for magnitude 0 under CURRENT and
 * DELAYED and always under NONE. */
int32_t hu_scale_exponent(const hu_format *format, hu_scale_rule rule, uint32_t top_bits);

/* The k nearest to the given one for which all numbers of the scaled format are binary32's. */
int32_t hu_scale_clamp(const hu_format *format, int32_t k);

/* The format whose numbers are 2^k times those of format. */
hu_format hu_format_scaled(const hu_format *format, int32_t k);

#endif
