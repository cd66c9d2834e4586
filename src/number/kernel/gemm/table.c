/* kernel/gemm/table.c - the micro-kernel of a combination. */
#include "kernel/gemm/table.h"

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
    if (arithmetic == HU_GEMM_F64_ODD && mac != HU_MAC_FMAC_K && mac != HU_MAC_KAHAN)
        is_odd = false;
    return (*table)[mac][is_odd][class][shape];
}
