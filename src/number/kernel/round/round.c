/* kernel/round/round.c - from a format and a mode to a kernel and its constants. */
#include "kernel/round/round.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "format/table/steps.h"
#include "format/value.h"

#define HU_ROUND_VARIANT(name, mode, route) hu_round_fn HU_OF_ISA(hu_round_##name);
#include "kernel/round/round.list"
#undef HU_ROUND_VARIANT
hu_scan_fn HU_OF_ISA(hu_scan_f32);
hu_words_fn HU_OF_ISA(hu_random_words);

static const hu_round_variant variants[] = {
#define HU_ROUND_VARIANT(name, mode, route) {#name, mode, route, {HU_OF_ISA(hu_round_##name)}},
#include "kernel/round/round.list"
#undef HU_ROUND_VARIANT
};
static hu_scan_fn *const scans[HU_ISA_COUNT] = {HU_OF_ISA(hu_scan_f32)};
static hu_words_fn *const word_makers[HU_ISA_COUNT] = {HU_OF_ISA(hu_random_words)};

size_t hu_round_variant_count(void) {
    return sizeof variants / sizeof variants[0];
}

const hu_round_variant *hu_round_variant_at(size_t index) {
    return &variants[index];
}

/* Exponent of the largest finite number: its exponent field 1 stands for emin. */
static int exponent_max(const hu_format *format) {
    return (int)(hu_format_code_max(format) >> format->man_bits) - 1 + hu_format_emin(format);
}

int hu_round_route_serves(hu_round_route route, hu_rounding rounding, const hu_format *format) {
    int man_bits = format->man_bits, emin = hu_format_emin(format), emax = exponent_max(format);
    int is_nearest_even = rounding == HU_ROUND_NEAREST_EVEN;
    /* The bounds of round.h: 2^emin, C and sums must be normal numbers; so must 2^-33 q in other
     * modes. */
    int least = is_nearest_even ? -126 : man_bits - 93, most = is_nearest_even ? 127 : 126;
    int is_low = format->underflow != HU_UNDERFLOW_NEAREST || emin + 23 <= most;
    switch (route) {
    case HU_ROUTE_MAGIC:
        return man_bits <= 22 && emin >= least && emax + 23 - man_bits <= most && is_low;
    case HU_ROUTE_SUBNORMAL:
        return man_bits == 23 && emin >= least && emax <= 126 && is_low;
    case HU_ROUTE_ALIGNED:
        return format->exp_bits == 8 && format->bias == 127;
    default:
        return 1;
    }
}

/* Bits of 2^exponent, -149 <= exponent <= 127. */
static uint32_t power_bits(int exponent) {
    return exponent >= -126 ? (uint32_t)(exponent + 127) << 23 : 1u << (exponent + 149);
}

/* Smallest magnitude that overflows under nearest-even: half a quantum above the largest finite
 * number; the tie itself stays if that number's significand is even. */
static float overflow_threshold(const hu_format *format) {
    uint32_t code_max = hu_format_code_max(format);
    uint32_t half = 0x00800000u >> (format->man_bits + 1);
    int stays = half == 0 || (format->man_bits > 0 && (code_max & 1) == 0);
    uint32_t bits = hu_format_magnitude_bits(format, code_max) + half;
    return hu_f32_of_bits(bits + (stays ? 1 : 0));
}

/* Taken from the reference itself: the largest binary32 number overflows if any finite one does. */
static void set_overflow_values(hu_rounder *r) {
    int is_plain = hu_round_least_finish(r->rounding) == HU_FINISH_PLAIN &&
                   r->format.overflow != HU_OVERFLOW_PROPAGATE;
    const uint32_t finite = is_plain ? HU_F32_INFINITY : HU_F32_INFINITY - 1;
    for (uint32_t negative = 0; negative < 2; negative++) {
        float large = hu_f32_of_bits(finite | negative << 31);
        float infinite = hu_f32_of_bits(HU_F32_INFINITY | negative << 31);
        r->overflow_value[negative] =
            hu_f32_bits(hu_format_round(&r->format, r->rounding, large, 0));
        r->infinite_value[negative] =
            hu_f32_bits(hu_format_round(&r->format, r->rounding, infinite, 0));
    }
}

/* What this format and mode leave to do after the rounding; the kernels have a loop for each. */
static hu_round_finish finish_of(const hu_rounder *r) {
    hu_round_finish least = hu_round_least_finish(r->rounding);
    if (r->emin_field < 1) return HU_FINISH_DEEP;
    if (r->tiny_drop != r->drop || r->nan_cap == HU_F32_INFINITY ||
        r->format.overflow == HU_OVERFLOW_PROPAGATE)
        return HU_FINISH_RARE;
    if (least == HU_FINISH_PLAIN && (r->flush_below_bits || !r->zero_sign)) return HU_FINISH_SMALL;
    return least;
}

/* Every constant of struct hu_rounder, also those that only other routes read. */
static void set_constants(hu_rounder *r, const hu_format *format, hu_rounding rounding,
                          hu_round_route route) {
    int emin = hu_format_emin(format), tiny_bits = hu_format_grid_bits(format, emin - 1);
    *r = (hu_rounder){.format = *format, .rounding = rounding, .route = route};
    r->drop = 23u - format->man_bits;
    r->tiny_drop = 23u - (uint32_t)tiny_bits;
    r->nan_cap = format->nan == HU_NAN_OVERFLOWS ? HU_F32_INFINITY : ~HU_F32_SIGN;
    r->emin_field = emin + 127;
    r->max_bits = hu_format_magnitude_bits(format, hu_format_code_max(format));
    r->min_normal_bits = power_bits(emin);
    r->min_nonzero_bits = power_bits(emin - tiny_bits);
    int is_flushed = !format->subnormals && format->underflow == HU_UNDERFLOW_FLUSH;
    r->flush_below_bits = is_flushed ? r->min_normal_bits : 0;
    r->zero_sign = format->specials == HU_SPECIALS_FNUZ ? 0 : HU_F32_SIGN;
    r->parity_cap = format->man_bits ? HU_F32_INFINITY : 0x00800000u;
    r->emin_bits = r->min_normal_bits;
    r->exponent_cap = (uint32_t)(exponent_max(format) + 128) << 23;
    r->threshold = overflow_threshold(format);
    set_overflow_values(r);
    r->finish = finish_of(r);
}

hu_status hu_rounder_init_variant(hu_rounder *rounder, const hu_format *format,
                                  const hu_round_variant *variant, hu_isa isa) {
    hu_status st = HU_OK;
    memset(rounder, 0, sizeof *rounder);
    HU_TRY(hu_format_check(format));
    if (!variant->run[isa] || hu_format_is_table(format) ||
        !hu_round_route_serves(variant->route, variant->rounding, format))
        return hu_fail(HU_ERR_UNSUPPORTED, "rounding kernel %s does not serve this format on %s",
                       variant->name, hu_isa_name(isa));
    set_constants(rounder, format, variant->rounding, variant->route);
    rounder->run = variant->run[isa];
done:
    return st;
}

/* ---- formats by table ---- */

hu_round_fn HU_OF_ISA(hu_round_table), HU_OF_ISA(hu_round_table_sr);

static hu_round_fn *const by_table[HU_ISA_COUNT] = {HU_OF_ISA(hu_round_table)};
static hu_round_fn *const by_table_sr[HU_ISA_COUNT] = {HU_OF_ISA(hu_round_table_sr)};

#if defined(__x86_64__)
hu_round_fn hu_round_bytes_vbmi;
hu_neighbours_fn hu_neighbours_bytes_vbmi;

/* Kernels that look up bytes. */
static void prefer_bytes(hu_rounder *rounder, hu_isa isa) {
    if (isa != HU_ISA_AVX512 || !hu_cpu_has_vbmi() || !rounder->steps->bytes) return;
    if (hu_rounding_draws(rounder->rounding))
        rounder->neighbours = hu_neighbours_bytes_vbmi;
    else
        rounder->run = hu_round_bytes_vbmi;
}
#else
static void prefer_bytes(hu_rounder *rounder, hu_isa isa) {
    (void)rounder, (void)isa;
}
#endif

static hu_status init_by_table(hu_rounder *rounder, const hu_format *format, hu_rounding rounding,
                               hu_isa isa) {
    const hu_format_limits limits = hu_format_limits_of(format);
    *rounder = (hu_rounder){.format = *format, .rounding = rounding, .route = HU_ROUTE_TABLE};
    rounder->max_bits = hu_f32_bits((float)limits.max_finite);
    rounder->min_normal_bits = hu_f32_bits((float)limits.min_normal);
    rounder->min_nonzero_bits = rounder->min_normal_bits;
    for (int i = 0; i < 2; i++) {
        rounder->overflow_value[i] = hu_code_table_overflow(format, rounding, i != 0, false);
        rounder->infinite_value[i] = hu_code_table_overflow(format, rounding, i != 0, true);
    }
    /* An infinity that becomes NaN where overflows saturate is a lost number, as NaN is. */
    bool loses_infinity = hu_code_table_of(format)->infinity_is_nan;
    rounder->nan_from = HU_F32_INFINITY - (loses_infinity ? 1 : 0);
    rounder->run = hu_rounding_draws(rounding) ? by_table_sr[isa] : by_table[isa];
    hu_status st = hu_code_steps_of(format, rounding, &rounder->steps);
    if (st == HU_OK) prefer_bytes(rounder, isa);
    return st;
}

/* ---- any format ---- */

/* The mode whose rows of round.list serve this one. */
static hu_rounding row_of(hu_rounding rounding) {
    const hu_rounding mode = hu_rounding_mode(rounding);
    return mode != HU_ROUND_COUNT && hu_rounding_bits(rounding) ? HU_ROUND_STATED_BITS : mode;
}

hu_status hu_rounder_init_isa(hu_rounder *rounder, const hu_format *format, hu_rounding rounding,
                              hu_isa isa) {
    hu_status st = HU_OK;
    memset(rounder, 0, sizeof *rounder);
    HU_TRY(hu_format_check(format));
    const hu_rounding row = row_of(rounding);
    if (hu_format_is_table(format) && row != HU_ROUND_COUNT)
        return init_by_table(rounder, format, rounding, isa);
    for (size_t i = 0; i < hu_round_variant_count(); i++) {
        if (variants[i].rounding != row || !hu_round_route_serves(variants[i].route, row, format))
            continue;
        HU_TRY(hu_rounder_init_variant(rounder, format, &variants[i], isa));
        rounder->rounding = rounding;
        return HU_OK;
    }
    st = hu_fail(HU_ERR_ARGUMENT, "rounding mode %d, allowed 0..%d", (int)rounding,
                 HU_ROUND_COUNT - 1);
done:
    return st;
}

hu_status hu_rounder_init(hu_rounder *rounder, const hu_format *format, hu_rounding rounding) {
    return hu_rounder_init_isa(rounder, format, rounding, hu_cpu_isa());
}

hu_status hu_round_f32(size_t n, const float *x, float *y, const hu_format *format,
                       hu_rounding rounding, const hu_random_key *random, uint64_t first_index,
                       hu_round_counts *counts) {
    HU_GIVEN(format);
    HU_GIVEN_IF(x, n > 0);
    HU_GIVEN_IF(y, n > 0);
    hu_rounder rounder;
    hu_status st = hu_rounder_init(&rounder, format, rounding);
    if (st != HU_OK) return st;
    if (hu_rounding_draws(rounding) && !random)
        return hu_fail(HU_ERR_ARGUMENT, "stochastic rounding without a random sequence");
    hu_rounder_run(&rounder, n, x, y, random, first_index, counts);
    return HU_OK;
}

void hu_round_counts_clear(hu_round_counts *counts) {
    if (!counts) return;
    *counts = (hu_round_counts){.max_exponent = HU_NO_EXPONENT, .min_exponent = HU_NO_EXPONENT};
}

void hu_round_counts_add(hu_round_counts *total, const hu_round_counts *more) {
    if (!total || !more) return;
    total->elements += more->elements;
    total->overflow += more->overflow;
    total->underflow += more->underflow;
    total->subnormal += more->subnormal;
    total->zero += more->zero;
    total->nan += more->nan;
    if (more->max_exponent > total->max_exponent) total->max_exponent = more->max_exponent;
    /* HU_NO_EXPONENT is less than every exponent: right for the maximum, no value for the minimum.
     */
    bool is_first = total->min_exponent == HU_NO_EXPONENT;
    bool has_one = more->min_exponent != HU_NO_EXPONENT;
    if (has_one && (is_first || more->min_exponent < total->min_exponent))
        total->min_exponent = more->min_exponent;
}

void hu_scan_f32(size_t n, const float *x, hu_round_counts *counts) {
    scans[hu_cpu_isa()](n, x, 0x00800000u, counts);
}

void hu_count_on_grid(const hu_rounder *rounder, size_t n, const float *x,
                      hu_round_counts *counts) {
    scans[hu_cpu_isa()](n, x, rounder->min_normal_bits, counts);
}

void hu_random_words_fast(const hu_random_key *key, uint64_t first, size_t count, uint32_t *words) {
    word_makers[hu_cpu_isa()](key, first, count, words);
}
