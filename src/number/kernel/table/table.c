#include "kernel/table/table.h"

#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "format/table/steps.h"

hu_round_fn HU_OF_ISA(hu_round_table), HU_OF_ISA(hu_round_table_sr);

static hu_round_fn *const nearest[HU_ISA_COUNT] = {HU_OF_ISA(hu_round_table)};
static hu_round_fn *const stochastic[HU_ISA_COUNT] = {HU_OF_ISA(hu_round_table_sr)};

hu_status hu_table_rounder_init(hu_rounder *rounder, const hu_format *format, hu_rounding rounding,
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
    rounder->run = hu_rounding_draws(rounding) ? stochastic[isa] : nearest[isa];
    return hu_code_steps_of(format, rounding, &rounder->steps);
}

#define HU_PACK_VARIANT(bits)                                                                      \
    hu_pack_fn HU_OF_ISA(hu_pack_table_##bits);                                                    \
    hu_unpack_fn HU_OF_ISA(hu_unpack_table_##bits);
#include "kernel/pack/pack.list"
#undef HU_PACK_VARIANT

typedef struct pack_variant {
    uint32_t bits;
    hu_pack_fn *pack[HU_ISA_COUNT];
    hu_unpack_fn *unpack[HU_ISA_COUNT];
} pack_variant;

static const pack_variant variants[] = {
#define HU_PACK_VARIANT(bits)                                                                      \
    {bits, {HU_OF_ISA(hu_pack_table_##bits)}, {HU_OF_ISA(hu_unpack_table_##bits)}},
#include "kernel/pack/pack.list"
#undef HU_PACK_VARIANT
};

hu_status hu_table_packer_init(hu_packer *packer, const hu_format *format, int code_bits,
                               hu_isa isa) {
    const hu_code_table *t = hu_code_table_of(format);
    uint32_t unit_bits = code_bits ? (uint32_t)code_bits : 32, zero;
    *packer = (hu_packer){.format = *format, .code_bits = code_bits, .decoded = t->decoded};
    packer->width = code_bits ? (uint32_t)code_bits : t->bits;
    packer->magnitude_mask = (1u << t->bits) - 1;
    packer->code_max = hu_format_limits_of(format).code_max;
    packer->is_nan_lost = t->nan_code < 0;
    packer->is_infinity_lost = !hu_code_table_has_infinities(format);
    /* NaN without a code is stored as 0 would be. */
    float of_zero = hu_format_round(format, HU_ROUND_NEAREST_EVEN, 0, 0);
    hu_format_encode(format, of_zero, &zero);
    packer->nan_code = packer->is_nan_lost ? zero : (uint32_t)t->nan_code;
    packer->infinity_code =
        t->infinity_code[0] < 0 ? t->code[t->count - 1] : (uint32_t)t->infinity_code[0];
    packer->minus_infinity_code =
        t->infinity_code[1] < 0 ? t->code[0] : (uint32_t)t->infinity_code[1];
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        if (variants[i].bits != unit_bits) continue;
        packer->pack = variants[i].pack[isa];
        packer->unpack = variants[i].unpack[isa];
    }
    return hu_code_steps_of(format, HU_ROUND_NEAREST_EVEN, &packer->steps);
}
