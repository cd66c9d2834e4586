/* kernel/gemm/tiles.h - rows and vectors of the tiles of each mode; 0, 0: no such shape. */
#ifndef HU_KERNEL_GEMM_TILES_H
#define HU_KERNEL_GEMM_TILES_H

#if defined(__AVX512F__) && !HU_GEMM_PORTABLE /* 32 registers */

#define FMACS_WIDE 8, 2
#define FMACS_MIDDLE 0, 0
#define FMACS_NARROW 16, 1
#define MACS_WIDE 8, 2
#define MACS_MIDDLE 0, 0
#define MACS_NARROW 16, 1
#define FMAC_K_WIDE 8, 2
#define FMAC_K_MIDDLE 0, 0
#define FMAC_K_NARROW 16, 1
#define MAC_WIDE 8, 2
#define MAC_MIDDLE 0, 0
#define MAC_NARROW 16, 1
#define KAHAN_WIDE 6, 2
#define KAHAN_MIDDLE 0, 0
#define KAHAN_NARROW 12, 1
#define KAHAN_CPD_WIDE 6, 2
#define KAHAN_CPD_MIDDLE 0, 0
#define KAHAN_CPD_NARROW 12, 1
#define TC_WIDE 8, 2
#define TC_MIDDLE 0, 0
#define TC_NARROW 16, 1

/* Times of a multiply-accumulate beside those of the wide shape: FMACS reads nearly two numbers for
 * each in the narrow one; where rounding is most of the work, the broadcasts of that shape are
 * operands of the instructions that need them, and it is the faster one unless each step multiplies
 * twice to round to odd (measured). */
#define HU_GEMM_MIDDLE_COST 1.0
#define HU_GEMM_NARROW_COST(mode, is_odd) ((mode) == HU_MAC_FMACS ? 1.125 : (is_odd) ? 1.02 : 0.97)

#else

/* For 16 vector registers: enough accumulators to hide the 14 cycles that one step of FMAC takes,
 * as many as there are registers for (Kahan's lie in memory). */
#define FMACS_WIDE 6, 2
#define FMACS_MIDDLE 0, 0
#define FMACS_NARROW 12, 1
#define MACS_WIDE 4, 2
#define MACS_MIDDLE 0, 0
#define MACS_NARROW 8, 1
#define FMAC_K_WIDE 3, 4
#define FMAC_K_MIDDLE 4, 3
#define FMAC_K_NARROW 10, 1
#define MAC_WIDE 4, 2
#define MAC_MIDDLE 0, 0
#define MAC_NARROW 8, 1
#define KAHAN_WIDE 6, 2
#define KAHAN_MIDDLE 0, 0
#define KAHAN_NARROW 12, 1
#define KAHAN_CPD_WIDE 6, 2
#define KAHAN_CPD_MIDDLE 0, 0
#define KAHAN_CPD_NARROW 12, 1
#define TC_WIDE 6, 2
#define TC_MIDDLE 0, 0
#define TC_NARROW 12, 1

/* Times of a multiply-accumulate beside those of the wide shape, measured. */
#define HU_GEMM_MIDDLE_COST 1.02
#define HU_GEMM_NARROW_COST(mode, is_odd) 1.125

#endif

#endif
