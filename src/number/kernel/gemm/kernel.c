/* kernel/gemm/kernel.c - the constants of R. */
#include "kernel/gemm/kernel.h"

#include <math.h>

#include "format/value.h"
#include "kernel/gemm/pack.h"

/* Largest finite number plus half a quantum: the tie itself stays where that number's significand
 * is even, then the next number after it overflows first. */
static bool is_tie_kept(const hu_format *format) {
    return format->man_bits > 0 && (hu_format_code_max(format) & 1) == 0;
}

/* What |t| >= threshold becomes; the kernels add the sign of t. */
static double overflow_value(const hu_format *format, double max_finite) {
    switch (format->overflow) {
    case HU_OVERFLOW_INF:
        return (double)INFINITY;
    case HU_OVERFLOW_SAT:
        return max_finite;
    default:
        return (double)NAN;
    }
}

/* Integers of 32 bits hold so many terms below 2^(F+2) and an accumulator below 2^(F+1). */
static int64_t chunk_of(int align_bits) {
    return align_bits < 29 ? (INT64_C(1) << (29 - align_bits)) - 1 : 0;
}

static void core_constants(const hu_accumulator *accumulator, hu_gemm_constants *constants) {
    const hu_format *format = &accumulator->format;
    constants->step = accumulator->block;
    constants->chunk = chunk_of(accumulator->align_bits);
    constants->align_bits = accumulator->align_bits;
    constants->out_bits = format->man_bits;
    constants->least_a = ldexp(1.0, accumulator->least_exponent[0]);
    constants->least_b = ldexp(1.0, accumulator->least_exponent[1]);
    constants->lowest_f32 = ldexp(1.0, accumulator->align_bits - 126);
    constants->lowest_f64 = 0x1p-400;
    constants->quantum = ldexp(1.0, -format->man_bits);
    constants->is_late = accumulator->is_late;
    constants->is_cut = accumulator->rounding == HU_ROUND_TOWARD_ZERO;
    if (accumulator->promote) constants->block = accumulator->promote;
}

void hu_gemm_constants_init(const hu_accumulator *accumulator, hu_gemm_constants *constants) {
    *constants = (hu_gemm_constants){.block = INT64_MAX, .forget_from = (double)INFINITY};
    if (accumulator->semantics == HU_SEMANTICS_CPD) constants->forget_from = (double)NAN;
    if (accumulator->mac == HU_MAC_FMAC_K) constants->block = accumulator->block;
    /* FMACS adds in float32: it has no R. */
    if (accumulator->mac == HU_MAC_FMACS) return;
    const hu_format *format = &accumulator->format;
    hu_format_limits limits = hu_format_limits_of(format);
    double threshold = limits.overflow_threshold;
    constants->lift_f32 = ldexpf(1.5f, 23 - format->man_bits);
    constants->lift_f64 = ldexp(1.5, 52 - format->man_bits);
    constants->emin = limits.min_normal;
    bool is_nearest = format->underflow == HU_UNDERFLOW_NEAREST;
    bool is_flushed = !format->subnormals && !is_nearest;
    constants->tiny = ldexp(limits.min_normal, is_nearest ? format->man_bits : 0);
    constants->gone_to = is_nearest ? 0 : ldexp(limits.min_normal, -format->man_bits - 1);
    constants->flush_below = is_flushed ? limits.min_normal : 0;
    constants->threshold_f32 = (float)threshold;
    constants->threshold_f64 = threshold;
    if (is_tie_kept(format)) {
        constants->threshold_f32 = nextafterf((float)threshold, INFINITY);
        constants->threshold_f64 = nextafter(threshold, (double)INFINITY);
    }
    constants->overflow = overflow_value(format, limits.max_finite);
    constants->max_finite = limits.max_finite;
    if (accumulator->mac == HU_MAC_TC) core_constants(accumulator, constants);
}

/* The micro-kernel of a combination. */

static const hu_gemm_table *const tables_f32[HU_ISA_COUNT] = {HU_AT_ISA(hu_gemm_f32)};
static const hu_gemm_table *const tables_f64[HU_ISA_COUNT] = {HU_AT_ISA(hu_gemm_f64)};

hu_gemm_kernel hu_gemm_kernel_of(hu_isa isa, hu_mac mac, hu_gemm_arithmetic arithmetic,
                                 hu_gemm_class class, hu_gemm_shape shape) {
    bool is_f32 = arithmetic == HU_GEMM_F32 || arithmetic == HU_GEMM_F32_ODD;
    bool is_odd = arithmetic == HU_GEMM_F64_ODD || arithmetic == HU_GEMM_F32_ODD;
    const hu_gemm_table *table = (is_f32 ? tables_f32 : tables_f64)[isa];
    if (!table) return (hu_gemm_kernel){0};
    /* Combinations that the list makes once (kernel.list). */
    if (mac == HU_MAC_FMAC) mac = HU_MAC_FMAC_K;
    if (mac == HU_MAC_FMACS) class = HU_GEMM_LEAN;
    if (mac == HU_MAC_MACS && class == HU_GEMM_COUNT_ALL) class = HU_GEMM_FULL;
    if (!is_f32 && class == HU_GEMM_SHORT_LEAN) class = HU_GEMM_LEAN;
    if (!is_f32 && class == HU_GEMM_SHORT_FAST) class = HU_GEMM_FAST;
    if (arithmetic == HU_GEMM_F64_ODD && mac != HU_MAC_FMAC_K && mac != HU_MAC_KAHAN)
        is_odd = false;
    return (*table)[mac][is_odd][class][shape];
}

/* The packing loops of an instruction set. */

const hu_pack_set *hu_pack_set_of(hu_isa isa) {
    static const hu_pack_set *const sets[HU_ISA_COUNT] = {HU_AT_ISA(hu_pack_set)};
    return sets[isa];
}
