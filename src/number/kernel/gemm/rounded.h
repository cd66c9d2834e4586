/* kernel/gemm/rounded.h - R of exact numbers, by integers alone. Thread-safe: pure functions. */
#ifndef HU_KERNEL_GEMM_ROUNDED_H
#define HU_KERNEL_GEMM_ROUNDED_H
#include <halfulp/gemm.h>
#include <math.h>

#include "kernel/gemm/exact.h"

/* Where a result goes: R's format, or float32 with IEEE's sign of zero. */
typedef struct hu_target {
    const hu_format *format;
    bool is_float32;
    bool computes_float32;  /* all semantics but exact: the argument is a float32 */
    bool is_cut;            /* toward zero */
    hu_gemm_counts *counts; /* NULL: not an accumulator that is counted */
} hu_target;

/* What the format gives for an overflow, with its sign. */
static inline float hu_target_overflowed(const hu_format *format, uint32_t sign) {
    switch (format->overflow) {
    case HU_OVERFLOW_INF:
        return hu_f32_of_bits(sign | HU_F32_INFINITY);
    case HU_OVERFLOW_SAT:
        return hu_f32_of_bits(sign | hu_format_magnitude_bits(format, hu_format_code_max(format)));
    default:
        return hu_f32_of_bits(HU_F32_NAN);
    }
}

/* The outcome of an operation with an operand that is not finite; finite ones do not come here. */
static inline float hu_round_special(const hu_target *to, float value) {
    if (isnan(value)) return hu_f32_of_bits(HU_F32_NAN);
    if (to->counts) to->counts->overflow++;
    return hu_target_overflowed(to->format, hu_f32_bits(value) & HU_F32_SIGN);
}

/* R of an exact value: round, then overflow, then flush. A zero of R is +0, that of float32 keeps
 * its sign. */
static inline float hu_round_exact(const hu_target *to, hu_exact x) {
    const hu_format *format = to->format;
    uint32_t sign = x.is_negative ? HU_F32_SIGN : 0;
    uint64_t code = hu_exact_code_rounded(format, x, to->is_cut);
    if (code > hu_format_code_max(format)) {
        if (to->counts) to->counts->overflow++;
        return hu_target_overflowed(format, sign);
    }
    bool is_gone = format->underflow == HU_UNDERFLOW_NEAREST && code == 0 && x.significand != 0;
    if (is_gone || (code != 0 && code < (uint64_t)1 << format->man_bits)) {
        if (to->counts) to->counts->subnormal++;
        if (!format->subnormals) code = 0;
    }
    if (code == 0 && !to->is_float32) return 0.0f;
    return hu_f32_of_bits(sign | hu_format_magnitude_bits(format, (uint32_t)code));
}

#endif
