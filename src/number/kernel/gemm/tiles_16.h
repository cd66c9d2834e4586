/* kernel/gemm/tiles_16.h - rows and vectors of the tiles of each mode, for 16 vector registers:
 * enough accumulators to hide the 14 cycles that one step of FMAC takes, as many as there are
 * registers for (Kahan's lie in memory). 0, 0: no such shape.
 */
#ifndef HU_KERNEL_GEMM_TILES_16_H
#define HU_KERNEL_GEMM_TILES_16_H

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

/* Times of a multiply-accumulate beside those of the wide shape, measured. */
#define HU_GEMM_MIDDLE_COST 1.02
#define HU_GEMM_NARROW_COST(mode, is_odd) 1.125

#endif
